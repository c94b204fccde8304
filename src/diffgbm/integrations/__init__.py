"""The library behind the interfaces of other packages."""
