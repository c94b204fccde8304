"""The command ``diffgbm report``, and files that the commands trust by name."""

import json
import re

import pytest

import diffgbm
from tests.cli.houses import houses


def test_the_command(folder, run, tmp_path):
    files = [folder / "two.dgbm", folder / "test.csv"]
    arguments = ["report", *files, "-o", tmp_path / "r.html", "--jobs", 1, "--repeats", 1]
    code, out, err = run(*arguments, "--train", folder / "houses.csv", "--title", "Houses", "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert (result["rows"], set(result["targets"])) == (60, {"price", "days"})
    html = (tmp_path / "r.html").read_text("utf-8")
    assert "<h1>Houses</h1>" in html
    assert "the 200 training responses" in html
    scores = json.loads(run("evaluate", folder / "two.dgbm", folder / "test.csv", "--jobs", 1, "--json")[1])["targets"]
    for name, target in result["targets"].items():
        assert target["crps"] == pytest.approx(scores[name]["crps"], rel=1e-12)
    code, out, _ = run(*arguments)
    assert (code, out) == (0, f"{tmp_path / 'r.html'}: 60 rows, {(tmp_path / 'r.html').stat().st_size / 1e6:.2f} MB.\n")


def test_thresholds_and_labels(folder, run, tmp_path):
    table = houses(60, 2)
    table["customer"] = [f"00{i}" for i in range(60)]
    table.loc[0, "price"] = None
    table.to_csv(tmp_path / "t.csv", index=False)
    arguments = ["report", folder / "one.dgbm", tmp_path / "t.csv", "-o", tmp_path / "r.html", "--jobs", 1, "--quiet"]
    code, _, err = run(*arguments, "--id", "customer", "--threshold", "0.5", "--threshold", "1.25")
    assert (code, err) == (0, "")
    html = (tmp_path / "r.html").read_text("utf-8")
    assert "P(y &gt; 0.5)" in html
    assert "P(y &gt; 1.25)" in html
    assert '"labels":["001","002",' in html  # the first row has no target and is left out
    code, _, err = run(*arguments, "--id", "client")
    assert code == 2
    assert "there is no column 'client'" in err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": "tomorrow.csv"}, r"tomorrow\.csv: there is no column 'price'"),
        ({"model": "none.dgbm"}, "There is no model file"),
        ({"model": "test.csv"}, "is not a model file"),
        ({"more": ["--train", "{in}/tomorrow.csv"]}, r"tomorrow\.csv: there is no column 'price'"),
        ({"more": ["--repeats", "0"]}, "--repeats must be an integer >= 1; got 0"),
        ({"more": ["--importance-rows", "1"]}, "--importance-rows must be an integer >= 2; got 1"),
        ({"more": ["--rows-shown", "0"]}, "--rows-shown must be an integer >= 1; got 0"),
        ({"more": ["--seed", "-1"]}, "--seed must be an integer >= 0"),
        ({"output": "no/r.html"}, "there is no folder"),
    ],
)
def test_mistakes_of_the_command(change, message, folder, run, tmp_path):
    more = [word.replace("{in}", str(folder)) for word in change.get("more", [])]
    model, table = (folder / change.get(k, v) for k, v in (("model", "one.dgbm"), ("table", "test.csv")))
    code, out, err = run("report", model, table, "-o", tmp_path / change.get("output", "r.html"), "--jobs", 1, *more)
    assert (code, out) == (2, "")
    assert re.search(message, err)
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_one_row_is_too_few_for_the_command(folder, run, tmp_path):
    houses(60, 2).head(1).to_csv(tmp_path / "one.csv", index=False)
    code, _, err = run("report", folder / "one.dgbm", tmp_path / "one.csv", "-o", tmp_path / "r.html", "--jobs", 1)
    assert (code, err) == (2, "diffgbm: A report needs at least 2 rows; got 1.\n")


def test_commands_trust_by_name(folder, run, monkeypatch):
    trusted_names = []
    real = diffgbm.load

    def watched(path, trusted=()):
        trusted_names.append(list(trusted))
        return real(path, trusted=trusted)

    monkeypatch.setattr("diffgbm.cli.commands.load", watched)
    code, _, err = run("inspect", folder / "one.dgbm", "--trust", "a.B", "--trust", "c.D")
    assert (code, err) == (0, "")
    code, _, err = run("evaluate", folder / "one.dgbm", folder / "test.csv", "--trust", "a.B", "--jobs", 1)
    assert (code, err) == (0, "")
    assert trusted_names == [["a.B", "c.D"], ["a.B"]]
