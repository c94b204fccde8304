"""How AutoDiffGBM decides: presets, budget, search, final models, pool, recalibration."""
