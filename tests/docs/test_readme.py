"""The README: short, and its code prints what it shows."""

import re

import pytest
from benchmarks.rivals import front

import diffgbm
from tests.docs.pages import DOCS, blocks, run, same_output

pytest.importorskip("pandas")

README = DOCS.parent / "README.md"
MOST_WORDS = 600


def prose(text: str) -> str:
    """Return the text without code blocks, tables and the targets of links."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^\|.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"\]\([^)]*\)", "]", text)


def table(text: str) -> str:
    """Return the lines of all tables."""
    return "".join(f"{line}\n" for line in text.splitlines() if line.startswith("|"))


def test_words_are_counted_without_code_tables_and_links():
    text = "one `two`\n\n```sh\nthree four\n```\n\n| five | six |\n|---|---|\n[seven](eight nine)\n"
    assert prose(text).split() == ["one", "`two`", "[seven]"]


def test_it_is_short():
    assert len(prose(README.read_text(encoding="utf-8")).split()) <= MOST_WORDS


def test_its_code_prints_what_it_shows():
    diffgbm.warmup()  # the time limit would count the compilation of kernels
    results = run(README, {})
    assert len(results) == 1
    for block, printed in results:
        assert block.shown
        assert same_output(block.shown, printed), f"README.md, line {block.line}, prints\n{printed}"


def test_its_code_is_what_a_reader_pastes():
    (block,) = blocks(README)
    assert len([line for line in block.code.splitlines() if line]) <= 12
    assert "AutoDiffGBM" in block.code
    assert "load_diabetes" in block.code


def test_its_one_table_is_that_of_the_lines():
    assert table(README.read_text(encoding="utf-8")) == front.front_table()


def test_its_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README.read_text(encoding="utf-8"))
    assert len(links) > 10
    for link in links:
        assert link.startswith("https://") or (README.parent / link).exists(), link
