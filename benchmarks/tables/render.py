"""Tables as Markdown and as LaTeX (booktabs)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import groupby

from benchmarks.tables.value import MISSING, Column, Entry, Page, Table, best_cells

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"$|$",
    "<": r"$<$",
    ">": r"$>$",
    "±": r"$\pm$",
    "≤": r"$\le$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "χ": r"$\chi$",
    "²": r"$^2$",
    "—": "---",
}
_MARKDOWN = {"\\": r"\\", "|": r"\|", "*": r"\*", "_": r"\_", "<": "&lt;", ">": "&gt;"}
_RANGE = re.compile(r"(?<=\d)-(?=\d)")
_POWER = re.compile(r"(-?\d(?:\.\d+)?)e([+-]\d+)")


def escape_markdown(text: str) -> str:
    """Make text safe inside a Markdown table."""
    return "".join(_MARKDOWN.get(letter, letter) for letter in text)


def escape_latex(text: str) -> str:
    r"""Make text safe in LaTeX; signs that have a command get it, code in backticks is set in ``\texttt``."""
    parts = text.split("`")
    escaped = [_RANGE.sub("--", "".join(_LATEX.get(letter, letter) for letter in part)) for part in parts]
    if len(parts) % 2 == 0:
        return "`".join(escaped)
    return "".join(rf"\texttt{{{part}}}" if i % 2 else part for i, part in enumerate(escaped))


def markdown(page: Page) -> str:
    """Write a page as Markdown."""
    parts = [f"# {page.title}", *page.notes]
    for table in page.tables:
        heading = [] if table.title == page.title else [f"## {table.title}"]
        parts += [*heading, _markdown_table(table), *_bullets(table.notes)]
    return "\n\n".join(parts) + "\n"


def _bullets(notes: Sequence[str]) -> list[str]:
    return ["\n".join(f"- {note}" for note in notes)] if notes else []


def _markdown_table(table: Table) -> str:
    headers = [f"{c.group}: {c.header}" if c.group else c.header for c in table.columns]
    marks = [":---" if column.align == "l" else "---:" for column in table.columns]
    rows = _texts(table, escape_markdown, lambda text: f"**{text}**")
    lines = [[escape_markdown(header) for header in headers], marks, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def latex(page: Page) -> str:
    """Write a page as LaTeX, one ``table*`` for each of its tables; needs the package booktabs."""
    head = "% needs \\usepackage{booktabs}\n"
    return head + "\n".join(_latex_table(table, page.notes) for table in page.tables)


def _latex_table(table: Table, notes: Sequence[str]) -> str:
    body = []
    for i, row in enumerate(_texts(table, _latex_number, lambda text: rf"\textbf{{{text}}}")):
        body += [r"    \midrule"] if i in table.rules else []
        body.append("    " + " & ".join(row) + r" \\")
    remarks = [escape_latex(note) for note in (*table.notes, *notes)]
    below = ["  \\par\\medskip\\raggedright\\scriptsize", *(f"  {note}" for note in remarks)] if remarks else []
    lines = [
        r"\begin{table*}[!t]",
        r"  \centering",
        rf"  \caption{{{escape_latex(table.title)}.}}\label{{tab:{table.name.replace('_', '-')}}}",
        r"  \scriptsize\setlength{\tabcolsep}{3pt}",
        rf"  \begin{{tabular}}{{{''.join(column.align for column in table.columns)}}}",
        r"    \toprule",
        *_latex_groups(table.columns),
        "    " + " & ".join(escape_latex(column.header) for column in table.columns) + r" \\",
        r"    \midrule",
        *body,
        r"    \bottomrule",
        r"  \end{tabular}",
        *below,
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def _latex_groups(columns: Sequence[Column]) -> list[str]:
    """Write the row of group headings and the rules below them; nothing if there are no groups."""
    if not any(column.group for column in columns):
        return []
    heads, rules, start = [], [], 1
    for group, members in groupby(columns, key=lambda column: column.group):
        width = len(list(members))
        heads.append(rf"\multicolumn{{{width}}}{{c}}{{{escape_latex(group)}}}" if group else " & " * (width - 1))
        if group:
            rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
        start += width
    return ["    " + " & ".join(heads) + r" \\", "    " + " ".join(rules)]


def _latex_number(text: str) -> str:
    """Escape, with powers of ten and minus signs in mathematics."""
    if power := _POWER.fullmatch(text):
        return rf"${power[1]}\times10^{{{int(power[2])}}}$"
    if re.fullmatch(r"-\d[\d.]*", text):
        return f"$-${text[1:]}"
    return escape_latex(text)


def _texts(table: Table, escape: Callable[[str], str], bold: Callable[[str], str]) -> list[list[str]]:
    marked = best_cells(table)
    return [
        [
            _entry(entry, column, escape, bold if (i, j) in marked else str)
            for j, (entry, column) in enumerate(zip(row, table.columns, strict=True))
        ]
        for i, row in enumerate(table.rows)
    ]


def _entry(entry: Entry, column: Column, escape: Callable[[str], str], bold: Callable[[str], str]) -> str:
    """Write ``ours ± error (paper ± error)``; missing parts are omitted, and a missing result is a dash."""
    if isinstance(entry, str):
        return escape(entry)

    def with_error(text: str, error: float | None) -> str:
        return text if error is None or math.isnan(error) else f"{text} {escape('±')} {escape(column.form(error))}"

    ours = escape(MISSING) if math.isnan(entry.value) else bold(escape(column.form(entry.value)))
    ours = with_error(ours, entry.error)
    if entry.paper is None:
        return ours
    return f"{ours} ({with_error(escape(_as_printed(entry.paper, column)), entry.paper_error)})"


def _as_printed(paper: float, column: Column) -> str:
    """Format a number of the paper like ours, but keep all its printed digits."""
    text = column.form(paper)
    return text if float(text.replace(",", "")) == paper else f"{paper:.10g}"
