"""Files as people have them: one clean table of house sales, written with one trouble each, named by it.

``READ`` holds troubles that must be read as the clean table, ``REFUSED`` those that must be refused with a remedy.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

Write = Callable[[pd.DataFrame, Path], None]


def sales(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Sizes with one decimal, whole prices above a thousand, names of towns, missing values of both kinds."""
    rng = np.random.default_rng(seed)
    towns = np.array(["Zürich", "Genève", "Biel", "St. Gallen"])
    frame = pd.DataFrame(
        {
            "size": rng.uniform(20, 3000, n).round(1),
            "rooms": rng.integers(1, 9, n).astype(float),
            "town": towns[rng.integers(0, 4, n)],
        }
    )
    frame["price"] = (900.0 + 400.0 * frame["size"] + rng.normal(size=n) * 20_000.0).round().abs() + 1_000.0
    frame.loc[5, "size"] = np.nan
    frame.loc[7, "town"] = None
    return frame


def text(
    frame: pd.DataFrame,
    sep: str = ",",
    missing: str = "",
    size: Callable[[float], str] = "{:.1f}".format,
    price: Callable[[float], str] = "{:.0f}".format,
    town: Callable[[str], str] = str,
) -> str:
    """Write a table as text, with a function for the values of each column; all values are quoted where needed."""

    def cell(value: object, write: Callable) -> str:
        words = missing if value is None or value != value else write(value)
        return f'"{words}"' if sep in words or '"' in words or "\n" in words else words

    writers = {"size": size, "rooms": "{:.0f}".format, "town": town, "price": price}
    rows = [sep.join(frame.columns)]
    rows += [sep.join(cell(v, writers[c]) for c, v in zip(frame, row)) for row in frame.itertuples(index=False)]  # noqa: B905
    return "\n".join(rows) + "\n"


def grouped(mark: str, decimal: str = ".", digits: int = 0) -> Callable[[float], str]:
    """Format numbers with a separator of thousands."""
    return lambda value: f"{value:,.{digits}f}".replace(",", "_").replace(".", decimal).replace("_", mark)


def plain(encoding: str = "utf-8", **how: object) -> Write:
    """Write a text file."""
    return lambda frame, path: path.write_bytes(text(frame, **how).encode(encoding))  # type: ignore[arg-type]


def lines(change: Callable[[list[str]], list[str]], **how: object) -> Write:
    """Write a text file whose lines are changed."""
    return lambda frame, path: path.write_text("\n".join(change(text(frame, **how).splitlines())) + "\n")  # type: ignore[arg-type]


def numbered(frame: pd.DataFrame, path: Path) -> None:
    frame.to_csv(path)


def shuffled_index(frame: pd.DataFrame, path: Path) -> None:
    order = np.random.default_rng(1).permutation(len(frame))
    frame.set_axis(order, axis=0).to_csv(path)


def called(name: str) -> Write:
    """Write a column of this name that counts the rows."""
    return lambda frame, path: frame.assign(**{name: range(1, len(frame) + 1)}).to_csv(path, index=False)


def row_names(frame: pd.DataFrame, path: Path) -> None:
    """As R's write.table: the header has one name less than the rows have values."""
    rows = text(frame).splitlines()
    path.write_text("\n".join([rows[0], *(f'"{i}",{row}' for i, row in enumerate(rows[1:], 1))]) + "\n")


def workbook(frame: pd.DataFrame, path: Path) -> None:
    frame.to_excel(path, index=False)


def titled_workbook(frame: pd.DataFrame, path: Path) -> None:
    """A title above the table, prices as text with currency."""
    priced = frame.assign(price=frame["price"].map("CHF {:,.0f}".format))
    priced.to_excel(path, index=False, startrow=2)
    import openpyxl

    book = openpyxl.load_workbook(path)
    book.active["A1"] = "Sales of the year"
    book.save(path)


def two_sheets(frame: pd.DataFrame, path: Path) -> None:
    with pd.ExcelWriter(path) as writer:
        frame.to_excel(writer, sheet_name="sales", index=False)
        frame.to_excel(writer, sheet_name="copy", index=False)


def with_dates(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """The clean table with the days of the sales."""
    days = pd.Timestamp("2018-03-05") + pd.to_timedelta(np.random.default_rng(seed + 9).integers(0, 900, n), unit="D")
    return sales(n, seed).assign(sold=days)


def dated(style: str, sep: str = ",") -> Callable[..., None]:
    """Write dates in a style."""

    def write(frame: pd.DataFrame, path: Path, as_json: bool = False) -> None:
        frame = frame.assign(sold=frame["sold"].dt.strftime(style))
        return json_lines(frame, path) if as_json else frame.to_csv(path, index=False, sep=sep)

    return write


def json_lines(frame: pd.DataFrame, path: Path) -> None:
    frame.to_json(path, orient="records", lines=True, force_ascii=False)


def json_list(frame: pd.DataFrame, path: Path) -> None:
    frame.to_json(path, orient="records", force_ascii=False)


def dirty_json(frame: pd.DataFrame, path: Path) -> None:
    """Numbers as text, and names that are left out where the value is missing."""
    rows = [
        {name: f"{v:,.0f} CHF" if name == "price" else v for name, v in row.items() if v is not None and v == v}
        for row in frame.to_dict("records")
    ]
    path.write_text("\n".join(map(json.dumps, rows)))


READ: dict[str, tuple[str, Write]] = {
    "semicolons": ("csv", plain(sep=";")),
    "tabs": ("tsv", plain(sep="\t")),
    "tabs in a csv": ("csv", plain(sep="\t")),
    "bars": ("txt", plain(sep="|")),
    "decimal comma": ("csv", plain(sep=";", size=grouped("", ",", 1))),
    "decimal comma in quotation marks": ("csv", plain(size=grouped("", ",", 1))),
    "thousands comma": ("csv", plain(size=grouped(",", ".", 1), price=grouped(","))),
    "thousands comma with tabs": ("tsv", plain(sep="\t", price=grouped(","))),
    "thousands point": ("csv", plain(sep=";", size=grouped(".", ",", 1), price=grouped(".", ","))),
    "thousands apostrophe": ("csv", plain(price=grouped("'"))),
    "thousands space": ("csv", plain(sep=";", price=grouped(" "))),
    "thousands narrow space": ("csv", plain(sep=";", size=grouped("\u202f", ",", 1), price=grouped("\u00a0"))),
    "dollar signs": ("csv", plain(price=lambda v: f"${v:,.0f}")),
    "euro after the number": ("csv", plain(sep=";", price=lambda v: grouped(".", ",")(v) + " €")),
    "currency codes": ("csv", plain(price=lambda v: f"CHF {v:.2f}")),
    "units": ("csv", plain(size=lambda v: f"{v:.1f} m²")),
    "per cent signs": ("csv", plain(size=lambda v: f"{v:.1f}%")),
    "question marks": ("csv", plain(missing="?")),
    "NA": ("csv", plain(missing="NA")),
    "n/a": ("csv", plain(missing="n/a")),
    "hyphens": ("csv", plain(missing="-")),
    "null": ("csv", plain(missing="null")),
    "errors of a spreadsheet": ("csv", plain(missing="#N/A")),
    "Latin-1": ("csv", plain("latin-1")),
    "cp1252": ("csv", plain("cp1252", price=lambda v: f"€{v:.0f}")),
    "UTF-16": ("csv", plain("utf-16")),
    "UTF-16 without a mark": ("csv", plain("utf-16-le", sep="\t")),
    "byte order mark": ("csv", plain("utf-8-sig")),
    "gzipped": ("csv.gz", lambda frame, path: path.write_bytes(gzip.compress(text(frame).encode()))),
    "quoted newlines": ("csv", lambda frame, path: frame.to_csv(path, index=False, quoting=1, lineterminator="\r\n")),
    "carriage returns": ("csv", lambda frame, path: path.write_text(text(frame).replace("\n", "\r"), newline="")),
    "blank lines": ("csv", lines(lambda rows: [row for one in rows for row in (one, "")])),
    "spaces around values": ("csv", lines(lambda rows: [row.replace(",", " ,  ") for row in rows])),
    "a title above the table": ("csv", lines(lambda rows: ["Sales of the year", "", *rows])),
    "a title with separators": ("csv", lines(lambda rows: ["Sales of the year,,,", *rows])),
    "comments": ("csv", lines(lambda rows: ["# from the archive", *rows])),
    "sep= line of a spreadsheet": ("csv", lines(lambda rows: ["sep=;", *rows], sep=";")),
    "separators at the ends of lines": ("csv", lines(lambda rows: [row + ";" for row in rows], sep=";")),
    "separators at the ends of rows": ("csv", lines(lambda rows: [rows[0], *(row + "," for row in rows[1:])])),
    "unnamed index": ("csv", numbered),
    "unnamed index of shuffled rows": ("csv", shuffled_index),
    "row names without a header": ("csv", row_names),
    "running index with a name": ("csv", called("SaleID")),
    "running index with the name of Nº": ("csv", called("Nº")),
    "running index with another name": ("csv", called("plot")),
    "Excel": ("xlsx", workbook),
    "Excel with a title and currency": ("xlsx", titled_workbook),
    "JSON lines": ("jsonl", json_lines),
    "JSON list": ("json", json_list),
    "JSON lines with text for numbers": ("jsonl", dirty_json),
}
"""Troubles that are read: ending of the file, and how it is written."""

DATES: dict[str, tuple[str, Write]] = {
    "day/month/year": ("csv", dated("%d/%m/%Y")),
    "month/day/year": ("csv", dated("%m/%d/%Y")),
    "day.month.year with semicolons": ("csv", dated("%d.%m.%Y", sep=";")),
    "years of two digits": ("csv", dated("%d/%m/%y")),
    "names of months": ("csv", dated("%d %B %Y")),
    "eight digits": ("csv", dated("%Y%m%d")),
    "with times": ("csv", dated("%d/%m/%Y %H:%M")),
    "dates of Excel": ("xlsx", lambda frame, path: frame.to_excel(path, index=False)),
    "ISO in JSON": ("jsonl", lambda frame, path: dated("%Y-%m-%d")(frame, path, as_json=True)),
}
"""Dates that are read as those of the clean table."""

REFUSED: dict[str, tuple[str, Write, str]] = {
    "a row that is too long": (
        "csv",
        lines(lambda rows: [*rows[:9], rows[9] + ",1", *rows[10:]]),
        r"line 10 has 5 values where 4 are expected\. Correct it; a value that holds a comma must be in quo",
    ),
    "an open quotation mark": (
        "csv",
        lines(lambda rows: [*rows[:9], '"' + rows[9], *rows[10:]]),
        r"line 61 has 1 values where 4 are expected",
    ),
    "two columns of one name": (
        "csv",
        lines(lambda rows: [rows[0].replace("rooms", "size"), *rows[1:]]),
        r"two columns 'size'\. Rename one of them",
    ),
    "no header": (
        "csv",
        lines(lambda rows: rows[1:]),
        r"there is no column 'price'; it has .*Does the first line hold the names of the columns",
    ),
    "columns separated by spaces": (
        "csv",
        lines(lambda rows: [row.replace(",", " ") for row in rows]),
        r"there is no column 'price'; .*If its columns are separated by another sign, name it: --sep",
    ),
    "words in the target": (
        "csv",
        plain(price=lambda v: "sold" if v > 1_000_000 else f"{v:.0f}"),
        r"column 'price' must hold numbers: line \d+ has 'sold'.*: --na 'sold'",
    ),
    "two currencies": (
        "csv",
        plain(price=lambda v: f"${v:.0f}" if v > 600_000 else f"€{v:.0f}"),
        r"column 'price' must hold numbers.*line \d+ has '[$€]\d+'",
    ),
    "thousands and millions": (
        "csv",
        plain(price=lambda v: f"{v / 1e6:.2f}M" if v > 600_000 else f"{v / 1e3:.0f}k"),
        r"column 'price' must hold numbers.*line \d+ has '[\d.]+[kM]'",
    ),
    "two sheets": ("xlsx", two_sheets, r"several sheets hold tables: 'sales', 'copy'\. Choose one: --sheet 'sales'"),
    "an old workbook": ("xls", plain(), r"must end in one of .*; save it as \.xlsx or CSV"),
    "a picture": ("csv", lambda frame, path: path.write_bytes(bytes(range(256)) * 9 + bytes(3000)), "a binary file"),
    "no rows": ("csv", lines(lambda rows: rows[:1]), r"there are no rows"),
    "an empty file": ("csv", lambda frame, path: path.write_bytes(b""), r"the file is empty"),
    "JSON that is cut short": (
        "jsonl",
        lambda frame, path: path.write_text('{"size": 1, "price": 2}\n{"size": 1, '),
        r"line 2 is not JSON .* Each line must hold one object",
    ),
}
"""Troubles that are refused: ending, how it is written, and the message."""
