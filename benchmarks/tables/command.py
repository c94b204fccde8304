"""Write the protocol's tables and figures from the evaluation lines: Markdown, LaTeX, PNG and PDF."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.layout import PROTOCOL
from benchmarks.tables import aggregates, budget, figures, per_data_set, ranks, render, sizes
from benchmarks.tables.cells import Results, read_results
from benchmarks.tables.value import Page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "--results-dir",
        type=Path,
        default=PROTOCOL,
        help="directory of evaluation.jsonl and configs; tables/ is made in it",
    )
    parser.add_argument("--no-figures", action="store_true", help="write only the tables, which needs no matplotlib")


def pages(results: Results) -> list[Page]:
    """Return every page, in the order of the paper."""
    headline, timing, competitors, all_families = (aggregates.page(results, spec) for spec in aggregates.SPECS)
    return [
        headline,
        timing,
        per_data_set.crpss_page(results),
        ranks.page(results),
        competitors,
        all_families,
        per_data_set.extended_page(results),
        per_data_set.crps_page(results),
        sizes.page(results),
        budget.page(results),
    ]


def write_tables(results_dir: Path, with_figures: bool = True) -> list[Path]:
    """Write all tables and figures into ``<results_dir>/tables`` and return the files.

    Raises
    ------
    NoResults
        There are no evaluation lines.
    """
    results = read_results(results_dir)
    directory = results_dir / "tables"
    directory.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    made = pages(results)
    for page in made:
        written += [
            _write(directory / f"{page.name}.md", render.markdown(page)),
            _write(directory / f"{page.name}.tex", render.latex(page)),
        ]
    pictures = figures.write(results, directory) if with_figures else []
    contents = _contents(made, [path.name for path in pictures if path.suffix == ".png"])
    return [*written, *pictures, _write(directory / "README.md", contents)]


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def _contents(made: list[Page], pictures: list[str]) -> str:
    lines = [f"- [{page.title}]({page.name}.md) ([LaTeX]({page.name}.tex))" for page in made]
    parts = [
        "# Tables of the protocol",
        "Made by `python -m benchmarks tables` from `evaluation.jsonl`.",
        "\n".join(lines),
    ]
    parts += [f"![{name.removesuffix('.png').replace('_', ' ')}]({name})" for name in pictures]
    return "\n\n".join(parts) + "\n"


def run(args: argparse.Namespace) -> None:
    """Write the tables and say where they are."""
    written = write_tables(args.results_dir, not args.no_figures)
    print(f"{len(written)} files in {args.results_dir / 'tables'}; start with README.md, headline.md and budget.md.")
