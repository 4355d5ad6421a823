"""Conversations of the project's own, to see whether retrieval holds on what it was not fitted to.

Each file is a list of samples in LoCoMo's layout, so that one loader reads both: a conversation's sessions with their
dates, and questions with the turns that bear the answer. Categories: 1 several turns, 2 time, 3 inference, 4 one turn.
`asked_date_time`, beside LoCoMo's keys, is when the questions are asked, for those that say "last winter".

- `english_long_answers`: one user, and an assistant whose answers are thousands of characters long. Most of what is
  asked for was said by the user in passing, while asking for something else; some of it by the assistant.
- `developer`: the same with code and logs, in the messages of both.
- `vietnamese`: the same in Vietnamese; some of the questions are typed without diacritics.
- `mixed_languages`: a user who mixes English and Vietnamese in one message, and writes lists and tables.
- `two_speakers`: two people, by name, who chat in short turns.

What makes it hard is what makes it hard in life. A user returns to the same few subjects, and friends, colleagues and
neighbours have dogs, rents and running times as well. Answers are full of the words of their subject. About half of the
questions use other words than the turn they look for. Where something was said again because it had changed, the old
turn and the new one are both evidence. Some questions need two to four turns.

How it was made: what users say, the questions, the first lines of the answers and whatever is asked about them were
written one by one for this set; people, places to eat, books and events are invented. Logs and the rest of each long
answer were put together by a script that is not kept, from some 1,300 sentences that were written for their subjects:
they are there to be long and to the point, they are no advice, and in one conversation the same sentence comes back two
or three times. Nothing was taken from another data set, and no weight may be fitted to this one alone.
"""

from __future__ import annotations

from pathlib import Path


def files() -> list[Path]:
    """Return the files of the set, by name."""
    return sorted(Path(__file__).parent.glob("*.json"))
