"""A model behind HTTP: ``diffgbm serve`` answers programs, ``diffgbm explore`` is a page to play with."""
