"""Ablation: what each rule of language changes: `python -m benchmarks.ablation`."""
