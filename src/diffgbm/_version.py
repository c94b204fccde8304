"""The version of the package: the only place where it is written."""

__version__ = "1.0.0.dev0"
