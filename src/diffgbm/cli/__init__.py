"""The command ``diffgbm``."""
