"""DiffGBM beside its two predecessors, treeffuser and the released diffgbm, each in a separate environment."""
