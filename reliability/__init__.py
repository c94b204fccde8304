"""Stress tests that take minutes or hours: fuzzed files, long runs, killed processes, other versions.

``python -m reliability <command>`` runs one and appends its figures as a line to ``reliability/results``;
``python -m reliability page`` writes ``docs/reliability.md`` from these lines.
"""
