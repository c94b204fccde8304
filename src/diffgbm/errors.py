"""The one warning class of the library; errors are plain ``ValueError`` and ``TypeError``."""


class DiffGBMWarning(UserWarning):
    """Something the user can change: data too small for an option, an engine that had to fall back."""
