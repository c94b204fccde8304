"""AutoDiffGBM on the paper's folds: what is fitted, the lines that are kept, and the tables made of them."""
