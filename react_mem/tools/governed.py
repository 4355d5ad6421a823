"""Tools that follow the memory policy of the agent that has them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tools.base import create_schema_from_function

from react_mem.memory import MemoryPolicy


class GovernedTool(StructuredTool):
    """A tool whose function is handed a memory policy with every call, which the model neither sees nor gives.

    Args:
        policy: The policy; the defaults until an agent's takes their place.
    """

    policy: MemoryPolicy = MemoryPolicy.model_validate({})

    def under(self, policy: MemoryPolicy) -> Self:
        """Return the same tool under another policy."""
        return self.model_copy(update={"policy": policy})

    async def _arun(self, *args: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        # last, so that no argument of a model's makes its way past it
        return await super()._arun(*args, config=config, **{**kwargs, "policy": self.policy})


def governed(function: Callable[..., Awaitable[Any]], *, artifact: bool = False) -> GovernedTool:
    """Make a tool of an async function with a `policy`.

    Args:
        function: Its other parameters, and its docstring, are what a model is shown.
        artifact: Whether it returns its text together with an artifact, which no model is shown and memory never keeps.
    """
    schema = create_schema_from_function(function.__name__, function, filter_args=["policy"])
    return GovernedTool.from_function(  # type: ignore[return-value]
        coroutine=function, args_schema=schema, response_format="content_and_artifact" if artifact else "content"
    )


def under_policy(tool: BaseTool, policy: MemoryPolicy) -> BaseTool:
    """Return a tool as an agent with this policy uses it; one that follows no policy as it is."""
    return tool.under(policy) if isinstance(tool, GovernedTool) else tool
