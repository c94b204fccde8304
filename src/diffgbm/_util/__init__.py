"""Errors, optional imports, progress, threads, atomic files and types. Knows nothing of the library."""
