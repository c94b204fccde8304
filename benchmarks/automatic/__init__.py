"""AutoDiffGBM on the paper's folds: fits, recorded lines, and tables."""
