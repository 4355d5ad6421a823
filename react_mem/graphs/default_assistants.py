"""A look at the default assistants: what one has that the deployment did not give it is in everybody's runs."""

from __future__ import annotations

import importlib
import json
import logging
import os
from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid5

from langgraph_sdk import get_client
from langgraph_sdk.errors import LangGraphError

from react_mem.memory.runtime import authenticates

log = logging.getLogger(__name__)


async def warn_of_changed_assistants(environ: Mapping[str, str] = os.environ) -> None:
    """Log which default assistants are not as the deployment has them, where a server authenticates its users.

    Args:
        environ: The environment, where the server's own configuration is.
    """
    if not authenticates(environ):
        return
    try:
        graphs = json.loads(environ.get("LANGSERVE_GRAPHS") or "{}")
        given = json.loads(environ.get("LANGGRAPH_CONFIG") or "{}")
        # within the process, where nobody needs to be let in
        client = get_client(url=None, api_key=None)
        namespace: UUID = importlib.import_module("langgraph_api.graph").NAMESPACE_GRAPH
        held = {graph: await client.assistants.get(str(uuid5(namespace, graph))) for graph in graphs}
    except (AttributeError, ImportError, OSError, RuntimeError, TypeError, ValueError, LangGraphError) as error:
        log.warning("whether a default assistant was changed cannot be told: %s", type(error).__name__)
        return
    changed = sorted(graph for graph, assistant in held.items() if _differs(assistant, given.get(graph) or {}))
    if changed:
        log.warning(
            "default assistants that are not configured as the deployment has them: %s. What they have is in the runs "
            "of everybody who uses them. If no administrator meant it, PATCH /assistants/{id} with "
            '{"config": {"configurable": {}}, "context": {}}.',
            ", ".join(changed),
        )


def _differs(assistant: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Return whether an assistant has more than it was given; the server writes a context into the configuration."""
    own, told = dict(assistant.get("config") or {}), dict(given)
    context = assistant.get("context") or {}
    settings = own.pop("configurable", None) or {}
    return own != {k: v for k, v in told.items() if k != "configurable"} or any(
        dict(one) != dict(told.get("configurable") or {}) for one in (settings, context) if one
    )
