"""Evidence recall, time and size of memory search where an assistant answers at length, beside what others use.

    python -m benchmarks.beam --data beam.json --json results/beam.json

BEAM ("Beyond a Million Tokens: Benchmarking and Enhancing Long-Term Memory in LLMs", Tavakoli et al., 2025) is no part
of the project and stays under its own licence: `--data` names a file, a list of samples with `sessions` (`date`, and
`turns` of `id`, `role` and `text`) and `qa` (`question`, `type`, and the `evidence`, ids of turns). Nobody has a name
there: one user talks to an assistant, whose answers are some 4,000 characters long. A session is dated by its day.

Run, report and metrics are those of `python -m benchmarks.locomo` (its --help says what they mean); kinds of questions
take the place of categories, as in `recall@10.instruction_following`. Some ask about a whole conversation, and their
evidence is spread over it: `prompt_evidence.event_ordering` says more of them than a ranking. Questions without
evidence, such as those to abstain from, are left out. No model is called, and no answer judged.

A run embeds some 10,000 texts in a quarter of an hour.
"""

from __future__ import annotations

from benchmarks.locomo.__main__ import main

if __name__ == "__main__":
    main(name="beam", about=__doc__)
