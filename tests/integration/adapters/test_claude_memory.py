"""Claude's memory tool on the files of memory: its commands, in the words that Anthropic documents, for one owner."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import ToolMessage
from langgraph.store.memory import InMemoryStore

from react_mem.integrations import ClaudeMemoryMiddleware, MemoryFilesBackend
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.store.postgres import MemoryStore
from tests.support.openai_script import Reply, ToolCall
from tests.support.openai_server import OpenAIServer
from tests.support.scripted_model import ScriptedModel, calls

AT = "/memories/notes.txt"
LISTED = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:"
EDITED = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
NO_PLACE = "does not exist. Please provide a valid path."

COMMANDS: list[tuple[dict[str, Any], str]] = [
    ({"command": "view", "path": "/memories"}, f"{LISTED}\n0B\t/memories"),
    ({"command": "create", "path": AT, "file_text": "trà 🍵\ncà phê\n"}, f"File created successfully at: {AT}"),
    ({"command": "create", "path": AT, "file_text": "lost"}, f"Error: File {AT} already exists"),
    (
        {"command": "create", "path": "/memories/a/b/c.md", "file_text": "x" * 1536},
        "File created successfully at: /memories/a/b/c.md",
    ),
    ({"command": "create", "path": "/memories/a", "file_text": "x"}, "Error: File /memories/a already exists"),
    ({"command": "create", "path": "/memories", "file_text": "x"}, "Error: File /memories already exists"),
    ({"command": "create", "path": f"{AT}/x", "file_text": "x"}, f"Error: {AT} is a file, and no directory"),
    ({"command": "rename", "old_path": AT, "new_path": f"{AT}/x"}, f"Error: {AT} is a file, and no directory"),
    (
        {"command": "create", "path": "/memories/.git/x", "file_text": "x"},
        "File created successfully at: /memories/.git/x",
    ),
    (
        {"command": "view", "path": "/memories/"},
        f"{LISTED}\n1.5K\t/memories\n1.5K\t/memories/a/\n1.5K\t/memories/a/b/\n19B\t{AT}",
    ),
    (
        {"command": "view", "path": AT, "view_range": [2, -1]},
        f"Here's the content of {AT} with line numbers:\n     2\tcà phê\n     3\t",
    ),
    (
        {"command": "str_replace", "path": AT, "old_str": "\n", "new_str": ""},
        "No replacement was performed. Multiple occurrences of old_str `\n` in lines: 1, 2. Please ensure it is unique",
    ),
    ({"command": "view", "path": "/memories/none"}, f"The path /memories/none {NO_PLACE}"),
    (
        {"command": "str_replace", "path": AT, "old_str": "cà phê", "new_str": "sữa\nnước"},
        f"{EDITED}\n     1\ttrà 🍵\n     2\tsữa\n     3\tnước\n     4\t",
    ),
    (
        {"command": "str_replace", "path": AT, "old_str": "bia", "new_str": ""},
        f"No replacement was performed, old_str `bia` did not appear verbatim in {AT}.",
    ),
    ({"command": "insert", "path": AT, "insert_line": 0, "insert_text": "sữa\n"}, f"The file {AT} has been edited."),
    (
        {"command": "str_replace", "path": AT, "old_str": "sữa", "new_str": ""},
        "No replacement was performed. Multiple occurrences of old_str `sữa` in lines: 1, 3. "
        "Please ensure it is unique",
    ),
    (
        {"command": "insert", "path": AT, "insert_line": 9, "insert_text": "x"},
        "Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 4]",
    ),
    (
        {"command": "insert", "path": "/memories/none", "insert_line": 0, "insert_text": "x"},
        "Error: The path /memories/none does not exist",
    ),
    (
        {"command": "rename", "old_path": AT, "new_path": "/memories/a"},
        "Error: The destination /memories/a already exists",
    ),
    (
        {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/z"},
        "Successfully renamed /memories/a to /memories/z",
    ),
    (
        {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/y"},
        "Error: The path /memories/a does not exist",
    ),
    ({"command": "delete", "path": "/memories/z"}, "Successfully deleted /memories/z"),
    ({"command": "delete", "path": "/memories/z"}, "Error: The path /memories/z does not exist"),
    ({"command": "delete", "path": "/memories"}, "Error: Cannot delete the /memories directory itself"),
    ({"command": "view", "path": "/etc/passwd"}, "Error: Path must start with /memories, got: /etc/passwd"),
    ({"command": "view", "path": "/memories/../etc"}, "Error: a path must not lead up with '..': name it from '/'"),
    ({"command": "view"}, "Error: this is no command of the memory tool with the parameters that it needs"),
]


async def test_each_command_answers_in_the_words_that_anthropic_documents(memory_store: MemoryStore) -> None:
    tool = ClaudeMemoryMiddleware(store=memory_store, user_id="ann")
    for command, told in COMMANDS:
        assert await tool.aexecute(command) == told, command
    bob = ClaudeMemoryMiddleware(store=memory_store, user_id="bob")
    assert await bob.aexecute({"command": "view", "path": AT}) == f"The path {AT} {NO_PLACE}"
    files = MemoryFilesBackend(store=memory_store, user_id="ann", folder="/memories")
    found, _ = await files.asearch_files("trà")
    assert found[0].path == "/notes.txt"
    await MemoryFacade(memory_store).forget_user("ann")
    assert await MemoryFacade(memory_store).list_records("ann", [MemoryScope.FILES]) == []


async def test_a_text_that_overlaps_itself_is_no_single_one_and_a_megabyte_keeps_the_loop_free(
    memory_store: MemoryStore,
) -> None:
    tool = ClaudeMemoryMiddleware(store=memory_store, user_id="ann")
    for path, text in ((AT, "aaa"), ("/memories/empty", ""), ("/memories/long", "dòng\n" * 160_000)):
        await tool.aexecute({"command": "create", "path": path, "file_text": text})
    replaced = await tool.aexecute({"command": "str_replace", "path": AT, "old_str": "aa", "new_str": "b"})
    assert replaced.startswith("No replacement was performed. Multiple occurrences")
    empty = {"path": "/memories/empty"}
    assert (await tool.aexecute({"command": "view", **empty})).endswith(":\n     1\t")
    assert "edited" in await tool.aexecute({"command": "insert", "insert_line": 0, "insert_text": "x", **empty})
    late = {"command": "view", "path": "/memories/long", "view_range": [159_999, 900_000]}
    assert (await tool.aexecute(late)).count("\n") == 3
    assert (await tool.aexecute({**late, "view_range": [5, 2]})).count("\n") == 0


async def test_claude_is_offered_its_own_tool_and_any_other_model_one_with_the_same_commands(
    openai_server: OpenAIServer,
) -> None:
    store = InMemoryStore()
    create = {"command": "create", "path": AT, "file_text": "Likes tea"}
    openai_server.add(Reply(tool_calls=[ToolCall("memory", create)]), Reply(text="Noted."), when=lambda _: True)
    address = openai_server.base_url.removesuffix("/v1")
    claude = ChatAnthropic(model="scripted", base_url=address, api_key="none")  # type: ignore[arg-type]
    agent = create_agent(claude, middleware=[ClaudeMemoryMiddleware()], store=store)
    config: Any = {"configurable": {"user_id": "ann"}}
    said = {"messages": [("user", "I like tea.")]}
    result = await agent.ainvoke(said, config)
    assert [one.text for one in result["messages"]][-2:] == [f"File created successfully at: {AT}", "Noted."]
    assert openai_server.requests[0].body["tools"] == [{"type": "memory_20250818", "name": "memory"}]

    view = {"command": "view", "path": "/memories", "user_id": "ann"}
    for config, told in (
        ({"configurable": {"user_id": "ann"}}, f"{LISTED}\n9B\t/memories\n9B\t{AT}"),
        ({"configurable": {"user_id": "bob"}}, f"{LISTED}\n0B\t/memories"),
        ({}, "Error: Memory is off for this run: no user is named"),
    ):
        other = ScriptedModel(script=[calls(("memory", view)), "done"])
        agent = create_agent(other, middleware=[ClaudeMemoryMiddleware()], store=store)
        result = await agent.ainvoke(said, config)
        [answer] = [one for one in result["messages"] if isinstance(one, ToolMessage)]
        assert answer.text.startswith(told)
