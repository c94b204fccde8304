"""Pages from recorded lines: one for each study in Markdown and LaTeX, its figure, and the page of all claims."""

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
_WORDS = {"holds": "hold", "does not hold": "do not hold"}

INTRODUCTION = """\
# The paper, table by table

Every table and figure of the paper has a study: a file in `benchmarks/studies` that describes the comparison, the
paper's results, and the rule that tests each of its claims on our measurements. This page is generated, except for the
paragraphs "Here" and "Discussion", by

```
python -m benchmarks study all            # continues after an interruption
python -m benchmarks study --pages        # tables, figures and this page from the lines
```

**Results of claims.** A claim HOLDS if the paired test of its rule finds the claimed difference at the 5% level (or,
for claims of equality, if the confidence interval lies within the tolerance). It DOES NOT HOLD if the test finds the
opposite. Otherwise the result is WITHIN NOISE: our data do not decide. Pairs are data sets and folds unless a rule
says otherwise. A result marked "substitute table" comes from generated data, because the full CT slices file was not
available: it shows how the method behaves on such a table and does not test the paper's own numbers. Tables show our
number first and the paper's in parentheses.

**Differences from the paper.** The paper averages ten (or eleven) data sets at full size. We average the data sets
named below each table, with large ones cut to 1,000 rows. Levels therefore differ; compare only differences between
rows of one table. Times are seconds of one thread with this library's engine, which samples orders of magnitude faster
than LightGBM's prediction, so claims about sampling time are tests of this engine.
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
    """Write ``paper.md``: every claim with its result, then every study; figures are copied beside it."""
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
    lines = [
        "## All claims",
        f"On the paper's data sets and by computation: {_listed(counts(every))}.",
        f"On a substitute for ct_slices, counted apart: {_listed(counts(every, substitute=True))}.",
        "| Study | Claim | Result |\n| :--- | :--- | :--- |\n"
        + "\n".join(
            f"| [{done.study.name}](#{_anchor(done.study)}) | {escape_markdown(claim.claim)} | "
            f"{outcome.finding.upper()}{done.on} |"
            for done in every
            for claim, outcome in done.outcomes()
        ),
    ]
    return "\n\n".join(lines)


def _listed(count: dict[str, int]) -> str:
    if not count:
        return "none"
    parts = (f"{number} {_WORDS.get(finding, finding)}" for finding, number in count.items())
    return f"{sum(count.values())} claims, {', '.join(parts)}"


def _anchor(study: Study) -> str:
    return f"study-{study.name.replace('_', '-')}"


def _section(done: Finished, picture: bool) -> str:
    study = done.study
    # headings of the page move two levels down, below that of this section
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
