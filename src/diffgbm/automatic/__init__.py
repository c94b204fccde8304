"""The machinery of AutoDiffGBM: first stages, contest, finals, pool."""
