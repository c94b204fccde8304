"""DiffGBM beside other packages for predictive distributions, each in an environment of its own."""
