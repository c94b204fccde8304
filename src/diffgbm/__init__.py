"""DiffGBM: the whole distribution p(y | x) of a tabular regression target, with gradient-boosted trees."""
