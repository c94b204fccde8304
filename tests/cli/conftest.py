"""Fixtures of the tests of the command line."""

from tests.cli.houses import folder, refused, run

__all__ = ["folder", "refused", "run"]
