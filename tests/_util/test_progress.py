"""Progress bars: silent unless asked for."""

import io
import sys
import threading

import pytest

from diffgbm._util.progress import SilentBar, StatusLine, note, progress_bar, someone_watches


class Terminal(io.StringIO):
    def isatty(self):
        return True

    @property
    def lines(self):
        """What was shown, one after the other."""
        return [line.rstrip() for line in self.getvalue().split("\r") if line.strip()]


def watched(monkeypatch):
    """Make the standard error a terminal; not in a fixture, after which pytest sets it again."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_a_silent_bar_shows_nothing_and_starts_no_thread(capfd):
    before = threading.active_count()
    with progress_bar(10, "fit", 0) as bar:
        assert isinstance(bar, SilentBar)
        bar.update()
        bar.update(3)
        bar.set_postfix_str("loss 1")
    assert threading.active_count() == before
    assert capfd.readouterr() == ("", "")


def test_a_bar_has_a_total_and_is_hidden_without_a_terminal(capfd):
    with progress_bar(10, "fit", 1, "round") as bar:
        bar.update(4)
        assert not isinstance(bar, SilentBar)
        assert (bar.total, bar.disable) == (10, True)
    assert capfd.readouterr() == ("", "")


def test_a_status_line_says_what_is_done_and_the_time_used(monkeypatch):
    terminal = watched(monkeypatch)
    with StatusLine("AutoDiffGBM", 1, lambda: "9 of 30 s") as line:
        line.stage("fitting final models")
        line.stage("testing")
    assert terminal.lines == ["AutoDiffGBM: fitting final models, 9 of 30 s", "AutoDiffGBM: testing, 9 of 30 s"]
    last = terminal.getvalue().split("\r")[-2]
    assert last == " " * len(terminal.lines[-1]), "the line is wiped in the end"


def test_details_are_not_drawn_too_often(monkeypatch):
    terminal = watched(monkeypatch)
    with StatusLine("fit", 1) as line:
        for k in range(1000):
            line.detail(f"round {k}")
    assert 1 <= len(terminal.lines) < 500
    assert terminal.lines[0] == "fit: round 0, 0 s"


def test_a_long_line_does_not_wrap(monkeypatch):
    terminal = watched(monkeypatch)
    monkeypatch.setenv("COLUMNS", "40")
    with StatusLine("fit", 1) as line:
        line.stage("x" * 100)
    assert max(map(len, terminal.lines)) == 39


@pytest.mark.parametrize(("verbose", "written"), [(0, ""), (1, ""), (2, "fit: one, now\nfit: two, now\n")])
def test_without_a_terminal_there_are_lines_on_request(verbose, written, capsys):
    with StatusLine("fit", verbose, lambda: "now") as line:
        line.stage("one")
        line.detail("more of it")
        line.stage("two")
        line.refresh()
    assert capsys.readouterr() == ("", written)


def test_notes_are_for_those_who_watch(monkeypatch):
    terminal = watched(monkeypatch)
    assert someone_watches()
    note("compiling")
    assert terminal.getvalue() == "diffgbm: compiling\n"
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not someone_watches()
    note("compiling")
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert someone_watches()
