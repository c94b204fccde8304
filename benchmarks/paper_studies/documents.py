"""What is written from lines: a page for each study in Markdown and LaTeX, its figure, and the page of all claims."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from benchmarks.datasets import ROOT
from benchmarks.paper_studies import figures
from benchmarks.paper_studies.pages import Finished, as_latex, counts, finished, page_of
from benchmarks.paper_studies.schema import Study
from benchmarks.tables.render import escape_markdown, markdown

DOCS = ROOT / "docs"

INTRODUCTION = """\
# The paper, table by table

Every table and figure of the paper has a study here: a file in `benchmarks/studies` that says what is compared, what
the paper found, and by which rule each of its claims is decided from our own lines. Nothing on this page is written
by hand but the paragraphs "Here" and "Discussion"; it is made by

```
python -m benchmarks study all            # goes on where it was interrupted
python -m benchmarks study --pages        # tables, figures and this page from the lines
```

**Verdicts.** A claim HOLDS if the paired test that its rule names finds the claimed difference at the 5% level (or if
the confidence interval lies within the tolerance, for claims that two things are equal); it DOES NOT HOLD if the test
finds the opposite; WITHIN NOISE is everything else: our data do not decide. Pairs are data sets and folds unless a
rule says otherwise. A verdict marked "stand-in" was reached on generated data, because the full CT slices were not at
hand: it says how the method behaves on such a table, not whether the paper is right about its own. In tables our number
comes first and the paper's follows in parentheses.

**What differs from the paper throughout.** The paper's numbers average its ten (or eleven) data sets at their full
size; ours average those named below each table, large ones cut down to 1,000 rows, so that levels differ and only
differences between rows of one table should be compared. Times are seconds of one thread with this library's collapsed
trees, which sample orders of magnitude faster than LightGBM's own prediction: where the paper's claim is about
sampling time, what is left of it is what this engine leaves of it.
"""


def write_study(study: Study, results_dir: Path, with_figures: bool = True) -> list[Path]:
    """Write a study's page in Markdown and LaTeX, and its figure; return the files."""
    done = finished(study, results_dir)
    directory = results_dir / "tables"
    directory.mkdir(parents=True, exist_ok=True)
    page = page_of(done)
    out = []
    for ending, text in (("md", markdown(page)), ("tex", as_latex(page))):
        path = directory / f"{study.name}.{ending}"
        path.write_text(text, encoding="utf-8")
        out.append(path)
    return out + (figures.write(done, directory) if with_figures else [])


def write_document(studies: Sequence[Study], results_dir: Path, docs: Path = DOCS) -> Path:
    """Write ``paper.md``: every claim with its verdict, then every study; figures are copied beside it."""
    every = [finished(study, results_dir) for study in studies]
    parts = [INTRODUCTION, _summary(every)]
    static = docs / "_static"
    static.mkdir(parents=True, exist_ok=True)
    for done in every:
        picture = results_dir / "tables" / f"{done.study.name}.png"
        shown = done.study.figure is not None and picture.is_file()
        if shown:
            shutil.copyfile(picture, static / f"paper_{done.study.name}.png")
        parts.append(_section(done, shown))
    path = docs / "paper.md"
    path.write_text("\n\n".join(part.strip() for part in parts) + "\n", encoding="utf-8")
    return path


def _summary(every: Sequence[Finished]) -> str:
    found = counts(every)
    total = sum(found.values())
    told = ", ".join(f"{number} {verdict}" for verdict, number in sorted(found.items(), key=lambda item: -item[1]))
    lines = [
        "## All claims",
        f"{total} claims: {told}.",
        "| Study | Claim | Verdict |\n| :--- | :--- | :--- |\n"
        + "\n".join(
            f"| [{done.study.name}](#{_anchor(done.study)}) | {escape_markdown(claim.claim)} | "
            f"{outcome.verdict.upper()}{done.on} |"
            for done in every
            for claim, outcome in done.outcomes()
        ),
    ]
    return "\n\n".join(lines)


def _anchor(study: Study) -> str:
    return f"study-{study.name.replace('_', '-')}"


def _section(done: Finished, picture: bool) -> str:
    study = done.study
    # the page's own headings go down two levels, below the one of this section
    body = markdown(page_of(done)).split("\n", 1)[1].replace("\n## ", "\n### ")
    parts = [
        f"({_anchor(study)})=\n## {escape_markdown(study.title)}",
        f"**Here.** {study.setup.strip()}",
        body.strip(),
    ]
    if picture:
        parts.append(f"![{escape_markdown(study.title)}](_static/paper_{study.name}.png)")
    if study.discussion.strip():
        parts.append(f"**Discussion.** {study.discussion.strip()}")
    return "\n\n".join(parts)
