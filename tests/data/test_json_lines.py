"""JSON: one object on each line or a list of objects; bad lines are named."""

import gzip
import json

import pytest

from diffgbm.data import json_lines
from diffgbm.data.file_format import TableFileError

ROWS = [{"a": 1, " b ": "x"}, {"a": 2.5, "c": None}, {"a": None, "c": [1, 2]}]


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_objects_become_columns(as_list, ending, tmp_path, monkeypatch):
    path = tmp_path / f"t.{ending}"
    text = json.dumps(ROWS, indent=1) if as_list else "\n\n".join(map(json.dumps, ROWS))
    with (gzip.open if ending.endswith("gz") else open)(path, "wt") as file:
        file.write("\n " + text)
    assert json_lines.json_names(path) == ["a", "b", "c"]
    [piece] = json_lines.json_pieces(path, ["c", "a", "b"])
    assert {name: column.to_pylist() for name, column in piece.items()} == {
        "c": [None, None, "[1, 2]"],
        "a": [1.0, 2.5, None],
        "b": ["x", None, None],
    }
    monkeypatch.setattr(json_lines, "ROWS", 2)
    assert [len(piece["a"]) for piece in json_lines.json_pieces(path, ["a"])] == [2, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{"a": }\n', r"line 2 is not JSON .* Each line must hold one object"),
        ('{"a": 1}\n3\n', "row 2 is not an object"),
        ('[{"a": 1}, 3]', "row 2 is not an object"),
        ('[{"a": 1},\n', "line 2 is not JSON"),
    ],
)
def test_bad_lines_are_named(text, message, tmp_path):
    (tmp_path / "t.jsonl").write_text(text)
    with pytest.raises(TableFileError, match=message):
        json_lines.json_names(tmp_path / "t.jsonl")
