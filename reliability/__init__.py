"""Attacks on the library that take minutes or hours: fuzzed files, long runs, killed processes, other versions.

``python -m reliability <command>`` runs one and writes what it saw as a line into ``reliability/results``;
``python -m reliability page`` makes ``docs/reliability.md`` of these lines.
"""
