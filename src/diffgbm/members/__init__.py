"""Estimators of other packages as predictive distributions: asked in one of several ways, cross-fitted, checked."""
