"""Docstrings that list the names of a table."""

import pytest

from diffgbm._util.docs import fill_docstring, names_of, with_paragraphs


def test_names_are_written_as_numpydoc_writes_choices():
    assert names_of({"a": 1, "b": 2}) == '{"a", "b"}'
    assert names_of(()) == "{}"


def test_classes_and_functions_are_filled():
    @fill_docstring(paths=["x", "y"], targets=["z"])
    class Model:
        """Has {paths} and {targets}, and {"braces"} of its own."""

        @fill_docstring(paths=["x"])
        def sample(self):
            """On {paths}."""

    assert Model.__doc__ == 'Has {"x", "y"} and {"z"}, and {"braces"} of its own.'
    assert Model.sample.__doc__ == 'On {"x"}.'


def test_a_placeholder_that_is_not_there_is_an_error():
    with pytest.raises(AssertionError, match=r"no \{paths\} in the docstring"):

        @fill_docstring(paths=["x"])
        def sample():
            """On a path."""


def test_without_docstrings_nothing_happens():
    def sample():
        pass

    assert fill_docstring(paths=["x"])(sample) is sample
    assert sample.__doc__ is None


def test_paragraphs_are_shared():
    @with_paragraphs(
        ax="""
        ax : axes
            Axes.
        """
    )
    def draw():
        """Draw {ax}.

        {ax}
        {other}
        """

    assert [line.strip() for line in draw.__doc__.splitlines()] == [
        "Draw {ax}.",
        "",
        "ax : axes",
        "Axes.",
        "{other}",
        "",
    ]
    indents = [len(line) - len(line.lstrip()) for line in draw.__doc__.splitlines() if line.strip()]
    assert indents[2] - indents[1] == 4
    draw.__doc__ = None
    assert with_paragraphs(ax="")(draw).__doc__ is None
