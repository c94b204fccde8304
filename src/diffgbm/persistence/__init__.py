"""Model files: an archive of JSON, LightGBM's text, arrays and, for a user's own regressors, skops."""
