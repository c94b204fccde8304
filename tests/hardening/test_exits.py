"""Errors of the command line end with code 2 and one line; the count of other endings would see an abort."""

import subprocess

from reliability import exits


def test_every_case_is_refused_in_this_process(tmp_path, monkeypatch, capfd):
    import pytest

    from diffgbm.cli.entry import main

    def here(words, folder):
        monkeypatch.chdir(folder)
        with pytest.raises(SystemExit) as left:
            main(list(words))
        return subprocess.CompletedProcess(words, left.value.code, *capfd.readouterr())

    monkeypatch.setattr(exits, "command", here)
    figures = exits.run(1.0, name=None, most=1)
    assert figures["findings"] == 0, figures
    assert figures["runs"] == len(exits.CASES)
    assert all(count == {"runs": 1, "others": 0} for count in figures["cases"].values())


def test_other_endings_are_seen():
    ends = [(2, "diffgbm: no.\n"), (134, "diffgbm: no.\nterminate called\n"), (2, ""), (1, "diffgbm: no.\n")]
    assert [exits.refused(subprocess.CompletedProcess([], code, "", text)) for code, text in ends] == [
        *(True, False, False, False),
    ]
