"""The paper on five pages: paths (Eq. 1), targets (Eq. 2), samplers (Eq. 3), noise levels and recipes."""
