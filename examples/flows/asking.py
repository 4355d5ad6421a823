"""A model's answer within a flow, which is not the answer of the turn."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime

from react_mem import AgentContext, MemoryResultItem
from react_mem.agents.resolve import ResolvedAgent
from react_mem.graphs.model_call import ModelCall
from react_mem.memory.context import followed_by, render_memories
from react_mem.memory.runtime import Metering
from react_mem.prompts import load_prompt


async def asked_aside(
    agent: ResolvedAgent,
    runtime: Runtime[AgentContext],
    flow_id: str,
    memories: Sequence[MemoryResultItem],
    messages: Sequence[BaseMessage],
    purpose: str = "answer",
) -> AIMessage:
    """Return an agent's answer to messages, given memories; it is not the turn's, and stays out of the stream.

    Raises `QuotaExceeded` if the user has used up a quota of the day, and `ModelCallError` if the model fails.
    """
    await Metering.of(agent.config.memory, runtime).before_model()
    chosen = await agent.for_run(AgentContext.of(runtime.context, get_config().get("configurable")))
    instructions = [followed_by(agent.config.system_prompt, await agent.standing.text())]
    block = render_memories(memories, agent.config.policy(flow_id).context.memory_tokens)
    if block.entries:
        instructions.append(load_prompt("memories").format(memories=block.briefing).strip())
    call = ModelCall(agent=agent, own=chosen.model, writer=runtime.stream_writer, tags=("nostream",), purpose=purpose)
    response, _ = await call.answer([SystemMessage("\n\n".join(instructions)), *messages])
    return response
