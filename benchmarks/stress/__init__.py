"""Conversations of our own on which retrieval must hold that was not fitted to them.

Each file is a list of samples in the layout of LoCoMo's, so that one loader reads both: the sessions of one
conversation with their dates, and questions with the turns that bear the answer. Categories: 1 several turns,
2 time, 3 inference, 4 one turn. `asked_date_time`, beside LoCoMo's keys, is the moment at which the questions
are asked, for those that say "last winter".

- `english_long_answers`: one user and an assistant whose answers are thousands of characters long. What is asked for is
  mostly said in passing by the user, in a conversation about something else.
- `developer`: the same with code and logs, in messages of both.
- `vietnamese`: the same in Vietnamese; some questions are typed without diacritics.
- `two_speakers`: two people who chat in short turns.
- `mixed_languages`: a user who mixes English and Vietnamese, and lists.

What makes it hard is meant to be what makes it hard in life: the same user returns to the same subjects again and again,
answers are full of the words of their subject, about half of the questions use other words than the turn they look for,
things are said anew when they have changed (the old and the new turn are both evidence), and some questions need several
turns.

How it was made: all that users say, the questions, the first lines of the answers and what is asked about them were
written by hand for this set; the people and what they do are invented. The rest of a long answer was put together
once by a script, from several hundred sentences that were written by hand for each subject. They are there to be long and
on the subject; they are not advice.
"""

from __future__ import annotations

from pathlib import Path


def files() -> list[Path]:
    """Return the files of the set, by name."""
    return sorted(Path(__file__).parent.glob("*.json"))
