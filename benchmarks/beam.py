"""Evidence recall, time and size of memory search in chats with a verbose assistant, beside peers.

    python -m benchmarks.beam --data beam.json --json results/beam.json

BEAM ("Beyond a Million Tokens: Benchmarking and Enhancing Long-Term Memory in LLMs", Tavakoli et al., 2025) is not part
of the project and stays under its own licence. `--data` names a file with a list of samples: `sessions` (`date`, and
`turns` of `id`, `role` and `text`) and `qa` (`question`, `type`, and `evidence`, ids of turns). Speakers have no names:
one user talks to an assistant with answers of some 4,000 characters. A session is dated by its day.

Run, report and metrics are those of `python -m benchmarks.locomo` (see its --help), with the types of questions in
place of categories, as in `recall@10.instruction_following`. For questions about a whole conversation, with scattered
evidence, `prompt_evidence.event_ordering` says more than a ranking. Questions without evidence are left out. No model
is called, and no answer judged.

A run embeds some 10,000 texts in a quarter of an hour.
"""

from __future__ import annotations

from benchmarks.locomo.__main__ import main

if __name__ == "__main__":
    main(name="beam", about=__doc__)
