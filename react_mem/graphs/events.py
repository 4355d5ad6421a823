"""Custom stream: the steps of an agent, for a terminal or a page to show.

Each event is a dict with a `type`:

- `thought`: `text`
- `action`: `id`, `name`, `args`
- `observation`: `id`, `name`, `content`, `error` (bool)
- `answer`: `text`
- `memory`, which `memory.write.lifecycle` sends: `operation` (`retrieve`, `extract` or `store`), `status` (`ok`, `off`
  or `degraded`), `message`, and the retrieved (`items`) or changed (`stored`, `retired`) memories; of a node with
  hooks, its name (`node`); where the development user stands in, that user (`development_user`)
- `context`: how the prompt was put together: `tokens`, `budget` and `dropped` by section, and the model's `window`,
  in tokens; `dropped` counts the items that did not fit
- `search`: a search of the web: its `trigger`, the `query` as it left, the `urls` that came back, and the `missing`
  parts with their causes
- `switch`: the `tools` that the turn offers to the model (None: all of them), those that were `picked`, the `layers` of
  memory that the request asks for (empty: all of them alike), whether a `snapshot` is made of the turn, and the method
  of the choice (`by`: `semantic`, `words`, `model` or `all`); `status` (`ok` or `degraded`) and `message`
- `suggestion`: a next step that may be of use: the `tool`, its purpose (`text`), the step that it comes `after`, and
  how many `times` this user's turns went on with it
- `model`: `status` (`degraded`: another model answers; `ok`: one that had failed answers again), `message`, the `model`
  that it is about; if degraded, the model asked `instead`, the `kind` of failure, and the id of the message that
  the answer `replaces`: the part of it that was streamed is withdrawn. Tokens of another message id
  follow, and the state never has the withdrawn one.
- `ui`: a card for a chat, with the config's `cards`: LangGraph's own event of `push_ui_message` (see `graphs.cards`)
- `task`: how far the task of the turn is, with the policy's `tasks`: `status` (`ok` or `degraded`: no plan), `message`,
  and its `goal` and `steps` (`id`, `description`, `depends_on`, `status`, `error`, `tool`)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from langgraph.types import StreamWriter

from react_mem.memory.context import Assembled


def tell(writer: StreamWriter, event: str, /, **fields: Any) -> None:
    """Report an event."""
    writer({"type": event, **fields})


def action(writer: StreamWriter, call: dict[str, Any]) -> None:
    """Report a tool call."""
    tell(writer, "action", id=call["id"], name=call["name"], args=call["args"])


def context(writer: StreamWriter, assembled: Assembled, window: int) -> None:
    """Report the sections of the prompt with their tokens, their budgets and the items that did not fit."""
    dropped = {section: number for section, number in assembled.dropped.items() if number}
    numbers = {"tokens": assembled.tokens, "budget": assembled.budget, "dropped": dropped}
    # plain strings: what a stream carries is JSON
    named = {name: {str(section): number for section, number in of.items()} for name, of in numbers.items()}
    tell(writer, "context", **named, window=window, cut=assembled.cut)


def task(
    writer: StreamWriter, status: Literal["ok", "degraded"], message: str, *, graph: Mapping[str, Any] | None = None
) -> None:
    """Report the progress of the turn's task, or that it has no plan."""
    tell(writer, "task", status=status, message=message, **(graph or {"goal": "", "steps": []}))
