"""Text files: encoding, separator and header found by looking, rows read in blocks of whole rows.

Blocks are cut here and parsed one by one: pyarrow's streaming reader keeps threads that outlive an error, and a process
that ends beside them aborts.
"""

from __future__ import annotations

import codecs
import csv as plain_csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from diffgbm._util.optional import need
from diffgbm.data.file_format import SEPARATORS, FileFormat, ReadingOptions, TableFileError

BLOCK_BYTES = 1 << 20
"""Bytes of a file that are parsed at a time, and so the longest row."""
SAMPLE_BYTES = 1 << 20
"""Bytes at the beginning of a file that are looked at."""
SAMPLE_ROWS = 200
"""Rows in which the separator is looked for."""
MOST_PREAMBLE = 20
"""Most lines before the header."""
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Marks at the beginning of a file, the longer before those that they begin with."""


def open_bytes(path: Path) -> Any:
    """Open a file, unpacked."""
    return gzip.open(path, "rb") if is_gzipped(path) else path.open("rb")


def is_gzipped(path: Path) -> bool:
    """Whether the name of a file ends in .gz."""
    return path.name.lower().endswith(".gz")


def find_encoding(path: Path, asked: str | None = None) -> str:
    """Find the encoding of a text file: by its first bytes, else UTF-8 if all of it is, else cp1252 or Latin-1."""
    if asked is not None:
        try:
            codecs.lookup(asked)
        except LookupError:
            raise TableFileError(f"--encoding: {asked!r} is unknown; try utf-8, utf-16, latin-1 or cp1252.") from None
    with open_bytes(path) as file:
        start = file.read(4096)
    for mark, name in _BOMS.items():
        if start.startswith(mark):
            # the mark is no part of the first name, also if the user says utf-8
            return name if asked is None or _same(asked, name) else asked
    if asked is not None:
        return asked
    if 4 * start.count(0) > len(start):
        even = start[::2].count(0)
        encoding = "utf-16-be" if even > start[1::2].count(0) else "utf-16-le"
        if any(byte == 0 for byte in start.decode(encoding, errors="replace").encode("utf-8")):
            raise TableFileError(f"{path}: this is not text but a binary file. Save the table as CSV or Parquet.")
        return encoding
    return _eight_bits(path)


def _same(asked: str, found: str) -> bool:
    names = [codecs.lookup(name).name.removesuffix("-sig") for name in (asked, found)]
    return names[0] == names[1]


def _eight_bits(path: Path) -> str:
    """Decide between UTF-8, cp1252 and Latin-1 by all bytes of a file; refuse UTF-8 with some other lines."""
    decoder, windows, is_latin = codecs.getincrementaldecoder("utf-8")(), False, True
    first_other, line, pairs, high = None, 1, 0, 0
    with open_bytes(path) as file:
        while True:
            block = file.read(BLOCK_BYTES)
            if first_other is None:
                try:
                    decoder.decode(block, final=not block)
                except UnicodeDecodeError as error:
                    first_other = line + block[: max(0, error.start)].count(b"\n")
            if not block:
                break
            line += block.count(b"\n")
            # bytes that are control characters in Latin-1 and quotation marks, dashes or the euro sign in cp1252
            windows |= re.search(rb"[\x80\x82-\x8c\x8e\x91-\x9c\x9e\x9f]", block) is not None
            is_latin &= re.search(rb"[\x81\x8d\x8f\x90\x9d]", block) is None
            if first_other is not None or not block.isascii():
                pairs += len(re.findall(rb"[\xc3-\xdf][\x80-\xbf]", block))
                high += len(re.findall(rb"[\x80-\xff]", block))
    if first_other is None:
        return "utf-8"
    if pairs >= 2 and 2 * pairs > 0.5 * high:  # letters of one byte are rarely followed by a sign
        raise TableFileError(
            f"{path}: most of the file is text in UTF-8, but line {first_other} is not. Correct it, or name the "
            "encoding of all lines: --encoding latin-1."
        )
    return "cp1252" if windows and is_latin else "latin-1"


def find_format(path: Path, options: ReadingOptions) -> FileFormat:
    """Find encoding, separator and header of a text file by looking at its first rows."""
    encoding = find_encoding(path, options.encoding)
    text = _first_text(path, encoding)
    if not text.strip():
        raise TableFileError(f"{path}: the file is empty.")
    if "\n" not in text and len(text.encode()) >= SAMPLE_BYTES:
        raise too_long(path, 1)
    asked = _separator(options.separator)
    first = text.split("\n", 1)[0].strip().lower()
    skipped = 0
    if re.fullmatch(r"sep=.", first):  # a line that spreadsheets write for themselves
        skipped, text = 1, text.split("\n", 1)[1]
        asked = asked or first[-1]
    if asked is None and "\x1f" not in text:
        asked = _best_separator(text)
    separator = asked or ","
    header, unnamed = _find_header(_rows(text, separator))
    return FileFormat("csv", encoding, separator, skipped + header, unnamed)


def _separator(asked: str | None) -> str | None:
    if asked is None:
        return None
    named = {"\\t": "\t", "tab": "\t", **{name: sign for sign, name in SEPARATORS.items()}}.get(asked, asked)
    if len(named) != 1 or named in '"\r\n':
        raise TableFileError(f"--sep must be one character, e.g. ';' or tab; got {asked!r}.")
    return named


def _first_text(path: Path, encoding: str) -> str:
    """Decode the beginning of a file, up to the end of a line where there is one."""
    decoder = codecs.getincrementaldecoder(encoding)()
    with open_bytes(path) as file:
        raw = file.read(SAMPLE_BYTES)
        whole = not file.read(1)
    try:
        text = decoder.decode(raw, final=whole)
    except UnicodeDecodeError as error:
        raise not_decoded(path, encoding, raw, error) from None
    except UnicodeError:  # UTF-16 without a byte order mark
        raise TableFileError(
            f"{path}: this is not text in {encoding.upper()}. Leave --encoding out, or name another."
        ) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not whole and "\n" in text:
        text = text[: text.rindex("\n") + 1]
    return text


def not_decoded(path: Path, encoding: str, block: bytes, error: UnicodeDecodeError, before: int = 0) -> TableFileError:
    """Return the error for bytes that are no text in an encoding."""
    line = 1 + before + block[: error.start].count(b"\n")
    return TableFileError(
        f"{path}: line {line} is not text in {encoding.upper()}. Name its encoding, e.g. --encoding latin-1."
    )


def _rows(text: str, separator: str) -> list[list[str]]:
    """Parse the first rows; the last may be cut short and is left out if there are many."""
    rows = []
    reader = plain_csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        for row in reader:
            rows.append(row)
            if len(rows) > SAMPLE_ROWS:
                return rows[:-1]
    except plain_csv.Error:
        pass
    return rows


def _best_separator(text: str) -> str | None:
    """Return the separator by which most rows have the same number of values, the more the better."""
    best: tuple[float, str] | None = None
    for separator in SEPARATORS:
        widths = Counter(len(row) for row in _rows(text, separator) if row)
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(0, 0))
        if width > 1:
            agreement = count / sum(widths.values())
            score = agreement**4 * width**0.5
            if best is None or score > best[0]:
                best = score, separator
    return None if best is None else best[1]


def _find_header(rows: Sequence[Sequence[str]]) -> tuple[int, Any]:
    """Find the line of the header, from 1, and whether rows have a value more than it."""
    widths = Counter(len(row) for row in rows if row)
    width = max(widths.items(), key=lambda item: (item[1], item[0]), default=(0, 0))[0]
    if width <= 1:
        return 1 + next((i for i, row in enumerate(rows) if row), 0), ""
    line = 1
    for i, row in enumerate(rows[: MOST_PREAMBLE + 1]):
        later = [one for one in rows[i + 1 :] if one]
        # a title above the table may be followed by empty values
        is_title = width > 2 and not any(map(str.strip, row[1:]))
        is_comment = row[:1] != [] and row[0].startswith("#") and bool(later) and _may_be_names(later[0], width)
        if len(row) == width and not is_comment and not is_title:
            return line, ""
        if len(row) == width - 1 and later and all(len(one) == width for one in later):
            if all(not one[-1].strip() for one in later):
                return line, "last"
            if _are_row_names([one[0] for one in later]):
                return line, "first"
            if len(row) > 1 and _may_be_names(row, width - 1):
                return line, ""  # rows are too long, which is reported when they are read
        line += 1 + sum(value.count("\n") for value in row)
    return 1, ""


def _may_be_names(row: Sequence[str], width: int) -> bool:
    """Whether a row may be the header: it has all columns, and none of its values begins with a digit."""
    return len(row) == width and not any(value.strip()[:1].isdigit() for value in row)


def _are_row_names(values: Sequence[str]) -> bool:
    """Whether values without a name in the header are names of rows: all different, counted or words.

    A number with a decimal comma that is not in quotation marks also makes rows longer than the header.
    """
    counted = [str(i) for i in range(1, len(values) + 1)]
    words = not any(value.strip()[:1].isdigit() for value in values)
    return list(map(str.strip, values)) == counted or (words and len(set(values)) == len(values))


def header_of(path: Path, file: FileFormat) -> list[str]:
    """Return the names of the columns, without spaces around them; a column without a name has an empty one."""
    text = _first_text(path, file.encoding)
    lines = text.split("\n")[file.header - 1 :]
    row: list[str] = []
    for row in _rows("\n".join(lines), file.separator):
        if row:
            break
    names = [name.strip() for name in row]
    return {"first": ["", *names], "last": [*names, ""], "": names}[file.unnamed]


def too_long(path: Path, line: int) -> TableFileError:
    """Return the error for a row that is longer than a block."""
    return TableFileError(
        f"{path}: the row in line {line} has more than {BLOCK_BYTES >> 20} MB, which is the most that is read "
        "at a time. Is a quotation mark left open? Otherwise save the table as Parquet."
    )


def row_blocks(path: Path, file: FileFormat) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of whole rows in UTF-8 without the header, each with the line of its first row."""
    decoder = codecs.getincrementaldecoder(file.encoding)()
    # a quoted value begins after a separator; a pattern that starts with its quotation mark is searched fast
    end = re.escape(file.separator.encode()[-1:])
    quoted = re.compile(rb'"(?<![^\r\n' + end + rb']")[^"]*(?:""[^"]*)*("?)')
    pending, line, in_header, raw_lines = b"", 1, True, 0
    with open_bytes(path) as source:
        while True:
            raw = source.read(BLOCK_BYTES)
            try:
                pending += decoder.decode(raw, final=not raw).encode()
            except UnicodeDecodeError as error:
                raise not_decoded(path, file.encoding, raw, error, raw_lines) from None
            raw_lines += raw.count(b"\n")
            if in_header:
                pending, line, in_header = _without_header(pending, file, quoted, not raw)
            if not in_header:
                cut = _last_row_end(pending, quoted) if raw else len(pending)
                if cut:
                    block, pending = pending[:cut], pending[cut:]
                    if block.strip():
                        yield line, block
                    line += _lines(block)
            if len(pending) > BLOCK_BYTES:
                raise too_long(path, line)
            if not raw:
                return


def _lines(block: bytes) -> int:
    return block.count(b"\n") or block.count(b"\r")


def _without_header(
    pending: bytes, file: FileFormat, quoted: re.Pattern[bytes], is_end: bool
) -> tuple[bytes, int, bool]:
    """Cut lines up to the header; return the rest, the line it begins with, and whether the header is still open."""
    end, line = 0, 1
    newline = b"\n" if b"\n" in pending else b"\r"
    while line < file.header:
        found = pending.find(newline, end)
        if found < 0:
            return pending, 1, not is_end
        end, line = found + 1, line + 1
    rest = pending[end:]
    position = 0
    spans = [match.span() for match in quoted.finditer(rest[: BLOCK_BYTES // 2])]
    while True:
        found = rest.find(newline, position)
        if found < 0:
            return (b"", line + 1, False) if is_end else (pending, 1, True)
        inside = next((stop for start, stop in spans if start < found < stop), None)
        # lines before the header may be blank
        if inside is None and rest[:found].strip():
            return rest[found + 1 :], line + rest[: found + 1].count(newline), False
        position = found + 1 if inside is None else inside


def _last_row_end(block: bytes, quoted: re.Pattern[bytes]) -> int:
    """Return the position after the last line end that is not inside quotation marks; 0 if there is none."""
    newline = b"\n" if b"\n" in block else b"\r"
    if b'"' not in block:
        return block.rfind(newline) + 1
    gap_end = len(block)
    for match in reversed(list(quoted.finditer(block))):
        start, stop = match.span()
        if match.group(1):  # closed
            found = block.rfind(newline, stop, gap_end)
            if found >= 0:
                return found + 1
        gap_end = start
    return block.rfind(newline, 0, gap_end) + 1


def parse_rows(path: Path, file: FileFormat, line: int, block: bytes, width: int, wanted: Sequence[int]) -> list[Any]:
    """Parse a block of rows; return the wanted columns as text, in their order."""
    arrow, csv = need("pyarrow"), need("pyarrow.csv")
    names = [str(j) for j in range(width)]
    sink = arrow.BufferOutputStream()  # its memory is Arrow's: no thread of Arrow has to free an object of Python
    sink.write(block)
    source = arrow.BufferReader(sink.getvalue())
    try:
        found = csv.read_csv(
            source,
            csv.ReadOptions(column_names=names, use_threads=False, block_size=max(1024, len(block) + 1)),
            csv.ParseOptions(delimiter=file.separator, newlines_in_values=True),
            csv.ConvertOptions(
                column_types=dict.fromkeys(names, arrow.string()),
                include_columns=[names[j] for j in wanted],
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
    except arrow.ArrowInvalid as error:
        raise _bad_row(path, file, line, block, width, error) from None
    return list(found.itercolumns())


def _bad_row(path: Path, file: FileFormat, line: int, block: bytes, width: int, error: Exception) -> TableFileError:
    reader = plain_csv.reader(io.StringIO(block.decode(), newline=""), delimiter=file.separator)
    try:
        for row in reader:
            if row and len(row) != width:
                name = SEPARATORS.get(file.separator, repr(file.separator))
                return TableFileError(
                    f"{path}: line {line - 1 + reader.line_num} has {len(row)} values where {width} are expected. "
                    f"Correct it; a value that holds a {name} must be in quotation marks."
                )
    except plain_csv.Error:
        pass
    return TableFileError(f"{path}: cannot be read: {' '.join(str(error).split())}")


def line_of_row(path: Path, file: FileFormat, row: int) -> int | None:
    """Return the line on which a row ends, counted from 0 without the header and without blank lines."""
    seen = -1
    for line, block in row_blocks(path, file):
        reader = plain_csv.reader(io.StringIO(block.decode(), newline=""), delimiter=file.separator)
        try:
            for values in reader:
                seen += bool(values)
                if seen == row:
                    return line - 1 + reader.line_num
        except plain_csv.Error:
            return None
    return None
