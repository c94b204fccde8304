"""SVG elements: ticks, widths, escaping."""

import numpy as np
import pytest

from diffgbm.reporting import svg


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3e-5, 4e-5), (1e6, 1e6 + 3), (0.0, 0.7)])
def test_ticks_are_round_and_inside(low, high):
    ticks = np.array(svg.ticks(low, high, 6))
    assert 2 <= len(ticks) <= 6
    assert ticks.min() >= low - 1e-9 * abs(low)
    assert ticks.max() <= high + 1e-9 * abs(high)
    steps = np.diff(ticks)
    np.testing.assert_allclose(steps, steps[0])


def test_a_frame_maps_ranges_to_pixels():
    frame = svg.Frame((0.0, 2.0), (-1.0, 1.0))
    assert (frame.x(0.0), frame.x(2.0)) == (frame.left, frame.width - frame.right)
    assert (frame.y(-1.0), frame.y(1.0)) == (frame.height - frame.bottom, frame.top)


def test_wide_characters_are_wider():
    assert svg.text_width("ab") < svg.text_width("MW") < svg.text_width("日本")
    assert svg.text_width("") == 0.0


def test_texts_are_escaped():
    assert "<b>" not in svg.text(0, 0, "<b>")
    assert "<b>" not in svg.rect(0, 0, 1, 1, "bar", "<b>")
    assert '"<' not in svg.drawing(svg.Frame((0.0, 1.0), (0.0, 1.0)), [], '"<b>')


def test_coordinates_are_short():
    assert [svg.at(v) for v in (1.0, 1.25, 12.34)] == ["1", "1.2", "12.3"]
    assert 'points="1,2 3,4"' in svg.path([(1.0, 2.0), (3.0, 4.0)], "curve")
    assert svg.path([(1.0, 2.0)], "band", closed=True).startswith("<polygon")
