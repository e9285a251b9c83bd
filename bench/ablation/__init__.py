"""What each group of signals adds on each set: figures of a model without it.

    python -m bench.ablation --data ../shared/data --out out/ablation.json

A work takes part by giving a `bench.ablation.study.Study` for each of its models. Models are fitted and scored as in
the work's own bench, on the rows that it scores; nothing is chosen on them.
"""
