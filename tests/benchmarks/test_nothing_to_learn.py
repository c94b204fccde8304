"""The benchmark of tables with nothing to learn: climatology by hand, tables, the page."""

import numpy as np
import pytest

from benchmarks import nothing_to_learn as nothing
from diffgbm import PredictiveDistribution


def test_climatology_of_the_other_rows():
    y = np.random.default_rng(0).standard_normal(7)
    expected = [
        PredictiveDistribution.from_points(np.sort(np.delete(y, i))[None, :]).crps(y[[i]])[0] for i in range(len(y))
    ]
    np.testing.assert_allclose(nothing.climatology_of_others(y), expected, rtol=0.2)
    others = np.array([1.0, 2.0, 4.0])
    by_hand = np.abs(others - 3.0).mean() - 0.5 * np.abs(others[:, None] - others).mean()
    assert nothing.climatology_of_others(np.array([3.0, 1.0, 2.0, 4.0]))[0] == pytest.approx(by_hand)


def test_tables_are_what_their_names_say():
    shapes = {case: draw(0, 1)[0].shape for case, (draw, _) in nothing.CASES.items()}
    assert shapes["three rows"] == (3, 2)
    assert shapes["60 rows of 100 columns"] == (60, 100)
    assert len(np.unique(nothing.CASES["pure noise, 1,500 rows of 10 kinds"][0](0, 1)[0])) == 10
    assert shapes["2,000 x 200, 5 s"] == (2000, 200)
    assert nothing.CASES["199 zeros and a one"][0](0, 1)[1].sum() == 1.0
    assert np.ptp(nothing.CASES["constant response"][0](0, 1)[1]) == 0.0


def test_the_page_has_both_ends_of_the_seeds():
    line = {"case": "three rows", "limit": 5.0, "fresh": 1.0, "fresh_climatology": 1.0, "oob_climatology": 2.0}
    lines = [
        {**line, "seed": 0, "oob": 1.0, "seconds": 0.5, "warnings": []},
        {**line, "seed": 1, "oob": 1.5, "seconds": 0.7, "warnings": ["X has 3 rows: few. More."]},
    ]
    assert "| three rows | 2 | 0.500 to 0.750 | 1.000 | 0.7 | 5 | 1: X has 3 rows |" in nothing.page(lines)
