"""Model files: an archive of JSON, LightGBM text, arrays and, for regressors of other libraries, skops entries."""
