"""HTML elements escape plain text."""

import pytest

from diffgbm.reporting import markup

TEXT = '<b a="1">&'


@pytest.mark.parametrize(
    "made",
    [
        markup.section("key", TEXT, ""),
        markup.figure(TEXT, TEXT, [("bar", TEXT)], ""),
        markup.facts_table([(TEXT, TEXT)], TEXT),
        markup.table(["", TEXT], [[TEXT, TEXT]], TEXT),
    ],
)
def test_texts_are_escaped(made):
    assert "<b" not in made.replace("<body", "").replace("<tbody", "")
    assert "&lt;b a=&quot;1&quot;&gt;&amp;" in made


def test_the_first_line_of_a_table_is_bold_unless_it_is_plain():
    lines = [["a", "1"], ["b", "2"]]
    assert markup.table(["", "x"], lines, "t").count("class=first") == 1
    assert "class=first" not in markup.table(["", "x"], lines, "t", plain=True)


def test_figures_have_legends_if_there_are_symbols():
    assert "<ul" in markup.figure("t", "", [("band", "95%")], "")
    assert "<ul" not in markup.figure("t", "", [], "")
