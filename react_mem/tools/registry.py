"""Tools by name: the built-in ones, and the user's own by dotted path."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, tool
from langchain_core.tools.base import create_schema_from_function

from react_mem.errors import ToolConfigError
from react_mem.memory import MemoryPolicy, records


class GovernedTool(StructuredTool):
    """A tool with the agent's memory policy in every call, hidden from the model: at first the defaults."""

    policy: MemoryPolicy = MemoryPolicy.model_validate({})

    async def _arun(self, *args: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        # last, so that no argument of a model's makes its way past it
        return await super()._arun(*args, config=config, **{**kwargs, "policy": self.policy})

    def _run(self, *args: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        store = getattr(kwargs.get("runtime"), "store", None)
        return records.run_blocking(lambda: self._arun(*args, config=config, **kwargs), store)


def governed(function: Callable[..., Awaitable[Any]], *, artifact: bool = False) -> GovernedTool:
    """Make a tool of an async function with a `policy`; a model sees its other parameters and its docstring.

    With `artifact` it returns its text with an artifact, which no model sees and memory never stores.
    """
    schema = create_schema_from_function(function.__name__, function, filter_args=["access", "policy"])
    return GovernedTool.from_function(  # type: ignore[return-value]
        coroutine=function, args_schema=schema, response_format="content_and_artifact" if artifact else "content"
    )


def under_policy(tool: BaseTool, policy: MemoryPolicy) -> BaseTool:
    """Return a tool under an agent's policy; a tool without a policy unchanged."""
    return tool.model_copy(update={"policy": policy}) if isinstance(tool, GovernedTool) else tool


def valid_names(name: str, valid: Iterable[str], elsewhere: Mapping[str, str] | None = None) -> str:
    """Return the valid names and the nearest one to `name`, as the end of an error message.

    Args:
        elsewhere: Names that are valid in another place, by place: for such a name, or where no valid one is near.

    >>> valid_names("calculater", ["calculator", "current_time"])
    "valid: calculator, current_time; did you mean 'calculator'?"
    >>> valid_names("calculater", ["chat"], {"calculator": "tools.calculator"})
    "valid: chat; did you mean 'tools.calculator'?"
    >>> valid_names("slm_model", ["models"], {"slm_model": "memory.web.slm_model"})
    "valid: models; did you mean 'memory.web.slm_model'?"
    >>> valid_names("zzz", [])
    'valid: none'
    """
    known, elsewhere = sorted(valid), elsewhere or {}
    told = f"valid: {', '.join(known) or 'none'}"
    given = {one: place for one, place in elsewhere.items() if one == name}
    for names in (given, {one: one for one in known}, elsewhere):
        folded = {one.casefold(): place for one, place in names.items()}
        if near := difflib.get_close_matches(name.casefold(), folded, n=1):
            return f"{told}; did you mean {folded[near[0]]!r}?"
    return told


BUILT_IN: dict[str, str] = {
    "calculator": "react_mem.tools.plain_tools:calculator",
    "compress_working_memory": "react_mem.tools.plain_tools:compress_working_memory",
    "current_time": "react_mem.tools.plain_tools:current_time",
    "end_conversation": "react_mem.tools.plain_tools:end_conversation",
    "forget": "react_mem.tools.memory_tools:forget",
    "recall_episodes": "react_mem.tools.memory_tools:recall_episodes",
    "recall_step": "react_mem.tools.plain_tools:recall_step",
    "record_episode": "react_mem.tools.memory_tools:record_episode",
    "retrieve_facts": "react_mem.tools.memory_tools:retrieve_facts",
    "store_fact": "react_mem.tools.memory_tools:store_fact",
    "unfold_summary": "react_mem.tools.memory_tools:unfold_summary",
    "web_search": "react_mem.tools.web.search:web_search",
}
""""module:attribute" by name; a module is imported at the first use of its tool, so that an extra stays optional."""


def check_tool_name(name: str) -> None:
    """Check a name without importing anything; ToolConfigError if neither built-in nor "package.module:function"."""
    if ":" in name or "." in name:
        module, attribute = _split(name)
        if not all(part.isidentifier() for part in (*module.split("."), attribute)):
            raise ToolConfigError(f"tool {name!r} is not a dotted path; write 'package.module:function'")
    elif name not in BUILT_IN:
        raise ToolConfigError(
            f"unknown tool {name!r}; a tool of your own is written 'package.module:function'; "
            f"{valid_names(name, BUILT_IN)}"
        )


def load_tools(names: Sequence[str], policy: MemoryPolicy | None = None) -> list[BaseTool]:
    """Load tools by name, in the order of the names. Blocking: it imports modules.

    A user's own tool is a LangChain tool, or a function with type annotations and a docstring, sync or async.

    Args:
        names: Built-in names or dotted paths ("package.module:function", or with '.' for ':').
        policy: The agent's policy for memory and web search; None for the defaults.

    Raises:
        ToolConfigError: If a tool cannot be found, imported or called, or two tools have one name.

    >>> [tool.name for tool in load_tools(["calculator"])]
    ['calculator']
    """
    loaded: dict[str, tuple[str, BaseTool]] = {}
    for name in names:
        check_tool_name(name)
        found = _load(name, BUILT_IN.get(name, name))
        if found.name in loaded:
            raise ToolConfigError(
                f"tools {loaded[found.name][0]!r} and {name!r} are both called {found.name!r}; "
                "a model tells tools apart by name: remove or rename one"
            )
        loaded[found.name] = name, found if policy is None else under_policy(found, policy)
    return [tool for _, tool in loaded.values()]


def _split(path: str) -> tuple[str, str]:
    module, _, attribute = path.partition(":") if ":" in path else path.rpartition(".")
    return module, attribute


def _load(name: str, path: str) -> BaseTool:
    module_name, attribute = _split(path)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        # Only the tool's own path is a wrong name; anything else is an import that fails inside the module.
        if missing is not None and f"{module_name}.".startswith(f"{missing}."):
            raise ToolConfigError(
                f"tool {name!r}: there is no module {missing!r}; install its package or put its folder on "
                f"PYTHONPATH ({valid_names(name, BUILT_IN)})"
            ) from error
        raise ToolConfigError(f"tool {name!r}: importing {module_name!r} failed: {_cause(error)}") from error
    try:
        found = getattr(module, attribute)
    except AttributeError as error:
        public = [
            key
            for key, value in vars(module).items()
            if not key.startswith("_") and (isinstance(value, BaseTool) or inspect.isroutine(value))
        ]
        raise ToolConfigError(
            f"tool {name!r}: module {module_name!r} has no {attribute!r}; {valid_names(attribute, public)}"
        ) from error
    return _as_tool(name, found)


def _as_tool(name: str, found: Any) -> BaseTool:
    if isinstance(found, BaseTool):
        return found
    if not inspect.isroutine(found):
        raise ToolConfigError(
            f"tool {name!r} is a {type(found).__name__ if not inspect.isclass(found) else 'class'}, "
            "not a LangChain tool or a function"
        )
    try:
        return tool(found)
    except Exception as error:
        raise ToolConfigError(
            f"tool {name!r} cannot be offered to a model: {_cause(error)}; "
            "give the function type annotations and a docstring"
        ) from error


def _cause(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
