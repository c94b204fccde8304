"""Progress bars: silent unless asked for."""

import threading

from diffgbm._util.progress import SilentBar, progress_bar


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
