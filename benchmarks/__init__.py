"""The paper's protocol: data sets, folds, scores and comparisons, each one command of ``python -m benchmarks``."""
