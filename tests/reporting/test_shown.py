"""The rows that are drawn."""

import numpy as np

from diffgbm.reporting import shown
from diffgbm.reporting.rows import read_rows
from diffgbm.reporting.scores import score_rows


def test_named_rows(known):
    model, X, y = known
    scores = score_rows(model, read_rows(model, X[:200]), y[:200, None], 0).responses[0]
    named = shown.named_rows(scores)
    crps, width = scores.values["crps"], scores.width()
    assert crps[named["best"]] == crps.min()
    assert crps[named["worst"]] == crps.max()
    assert width[named["narrowest"]] == width.min()
    assert width[named["widest"]] == width.max()
    for values in (crps, width):
        assert 0.25 < np.mean(values <= values[named["typical"]]) < 0.9
    order = shown.random_rows(200, 0)
    chosen = shown.rows_to_show(named, order[:20], 20)
    assert len(chosen) == len(set(chosen)) == 20
    assert set(named.values()) <= set(chosen)
    assert shown.rows_to_show(named, order, 10**6).tolist() == list(range(200))
    assert set(shown.rows_to_show(named, order[:1], 1)) == set(named.values())
