"""Client of the protocol's official library of version 1, for an environment of its own that holds only that.

`python mcp_client_1.py '{"url": ..., "headers": {...}}'`, or with `command`, `args` and `env` in their place, does what
a user of such a client does, and writes what came of it as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from importlib.metadata import version

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


@asynccontextmanager
async def connected(server):
    """Open a server's streams."""
    if "url" in server:
        async with streamablehttp_client(server["url"], server["headers"]) as (reading, writing, _):
            yield reading, writing
    else:
        async with stdio_client(StdioServerParameters(**server)) as streams:
            yield streams


async def main(server):
    """Talk to a server; return what it said."""
    async with connected(server) as streams, ClientSession(*streams) as session:
        begun = await session.initialize()
        tools = (await session.list_tools()).tools
        said = {"text": "My cat is called Mimi", "said": "My cat is called Mimi."}
        stored = await session.call_tool("remember", said)
        found = await session.call_tool("recall", {"query": "What is my cat called?"})
        refused = await session.call_tool("why", {"id": "none"})
        resources = (await session.list_resources()).resources
        profile = await session.read_resource(resources[0].uri)
        prompt = await session.get_prompt("context", {"message": "What is my cat called?"})
        return {
            "library": version("mcp"),
            "server": begun.serverInfo.name,
            "protocol": begun.protocolVersion,
            "tools": [tool.name for tool in tools],
            "outcome": stored.structuredContent["outcome"],
            "found": [one["text"] for one in found.structuredContent["memories"]],
            "refused": refused.isError,
            "resources": [str(one.uri) for one in resources],
            "profile": json.loads(profile.contents[0].text),
            "prompt": [message.content.text for message in prompt.messages],
        }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
