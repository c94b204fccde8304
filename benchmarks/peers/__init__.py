"""DiffGBM beside its two predecessors, treeffuser and the released diffgbm, each in an environment of its own."""
