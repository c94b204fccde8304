"""Text files: encoding, separator and header are found, and blocks hold whole rows."""

import codecs
import random

import pytest

from diffgbm.data import text_files
from diffgbm.data.file_format import FileFormat, ReadingOptions, TableFileError
from diffgbm.data.text_files import find_encoding, find_format, header_of, line_of_row, parse_rows, row_blocks

FOUND = ReadingOptions()


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"a,b\n", "utf-8"),
        ("a,\u00e4\n".encode(), "utf-8"),
        (codecs.BOM_UTF8 + b"a\n", "utf-8-sig"),
        ("a,\u00e4\n".encode("latin-1"), "latin-1"),
        ("a,\u20ac\n".encode("cp1252"), "cp1252"),
        (b"a,\x80,\x81\n", "latin-1"),  # cp1252 has no 0x81
        ("a,b\n".encode("utf-16"), "utf-16"),
        ("a,b\n".encode("utf-32"), "utf-32"),
        ("a,b\n".encode("utf-16-le"), "utf-16-le"),
        ("a,b\n".encode("utf-16-be"), "utf-16-be"),
        (b"a\n" + b"x" * (3 << 20) + "\u00e4".encode("latin-1"), "latin-1"),  # the last byte counts too
    ],
)
def test_the_encoding_is_found(content, encoding, tmp_path):
    assert find_encoding(written(tmp_path / "t.csv", content)) == encoding


def test_the_users_encoding_is_taken_and_a_mark_is_no_text(tmp_path):
    path = written(tmp_path / "t.csv", codecs.BOM_UTF8 + b"a,b\n1,2\n")
    assert find_encoding(path, "UTF-8") == "utf-8-sig"
    assert header_of(path, find_format(path, ReadingOptions(encoding="utf8"))) == ["a", "b"]
    path = written(tmp_path / "t.csv", "a,\u00e4\n1,2\n".encode("cp1250"))
    assert find_encoding(path, "cp1250") == "cp1250"
    with pytest.raises(TableFileError, match=r"line 1 is not text in UTF-8\. Name its encoding"):
        find_format(path, ReadingOptions(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,2\n", FileFormat("csv")),
        ("a;b\n1,5;2,5\n1,5;2,5\n", FileFormat("csv", separator=";")),
        ('a,b\n"x;y;z",2\n"x;y;z",3\n', FileFormat("csv")),
        ("a\tb c\n1,5\t2\n", FileFormat("csv", separator="\t")),
        ("a|b\n1|2\n", FileFormat("csv", separator="|")),
        ("a\n1\n", FileFormat("csv")),
        ("sep=;\na;b\n1;2\n", FileFormat("csv", separator=";", header=2)),
        ("title\n\na,b,c\n1,2,3\n4,5,6\n", FileFormat("csv", header=3)),
        ("a,b\n1,2,3\n2,5,6\n", FileFormat("csv", unnamed="first")),
        ("a,b\nMazda,2,3\nFiat,5,6\n", FileFormat("csv", unnamed="first")),
        ("# of 2020, by me\na,b\n1,2\n4,5\n", FileFormat("csv", header=2)),
        ("#a,b\n1,2\n4,5\n", FileFormat("csv")),
        ("a,b\n1,2,\n4,5,\n", FileFormat("csv", unnamed="last")),
    ],
)
def test_separator_and_header_are_found(text, expected, tmp_path):
    path = written(tmp_path / "t.csv", text)
    assert find_format(path, FOUND) == expected
    assert find_format(path, ReadingOptions(separator="!")).separator == "!"


@pytest.mark.parametrize(("asked", "sign"), [("tab", "\t"), ("\\t", "\t"), ("semicolon", ";"), (":", ":")])
def test_the_users_separator(asked, sign, tmp_path):
    assert find_format(written(tmp_path / "t.csv", "a,b\n"), ReadingOptions(separator=asked)).separator == sign


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("block", [16, 57, 1 << 20])
def test_blocks_hold_whole_rows(block, newline, tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    rng = random.Random(0)
    values = ['"x,{0}y"', "5\u20ac", '""', 'in"ch', "z", '"a ""q"""']
    rows = [[rng.choice(values).format(newline), str(i)] for i in range(60)]
    text = f"a,b{newline}" + "".join(",".join(row) + newline for row in rows)
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    file = find_format(path, FOUND)
    found, lines = [], []
    for line, part in row_blocks(path, file):
        found += parse_rows(path, file, line, part, 2, [1])[0].to_pylist()
        lines.append(line)
    assert found == [row[1] for row in rows]
    before = [2 + sum(",".join(row).count(newline) + 1 for row in rows[:i]) for i in range(len(rows))]
    assert set(lines) <= set(before)
    assert line_of_row(path, file, 59) == before[59] + rows[59][0].count(newline)


def test_columns_come_in_the_order_in_which_they_are_asked_for(tmp_path):
    path = written(tmp_path / "t.csv", " a ;b;c\n1;2;3\n")
    file = find_format(path, FOUND)
    assert header_of(path, file) == ["a", "b", "c"]
    [(line, block)] = row_blocks(path, file)
    assert [column.to_pylist() for column in parse_rows(path, file, line, block, 3, [2, 0])] == [["3"], ["1"]]
    with pytest.raises(TableFileError, match=r"line 2 has 3 values where 4 are expected.*holds a semicolon"):
        parse_rows(path, file, line, block, 4, [0])


def test_decimal_commas_without_quotation_marks_are_no_row_names(tmp_path):
    path = written(tmp_path / "t.csv", "size,price\n50,123,456\n60,234,567\n")
    file = find_format(path, FOUND)
    assert file.unnamed == ""
    [(line, block)] = row_blocks(path, file)
    with pytest.raises(TableFileError, match="has 3 values where 2 are expected"):
        parse_rows(path, file, line, block, len(header_of(path, file)), [0])


def test_a_few_lines_of_another_encoding_are_named(tmp_path):
    lines = ["a,b", *["1,Z\u00fcrich"] * 20]
    mixed = "\n".join(lines).encode() + "\n2,Gen\u00e8ve\n".encode("latin-1")
    with pytest.raises(TableFileError, match=r"most of the file is text in UTF-8, but line 22 is not\. Correct it, or"):
        find_encoding(written(tmp_path / "t.csv", mixed))
    assert find_encoding(tmp_path / "t.csv", "latin-1") == "latin-1"
