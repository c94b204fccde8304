"""Free text: words that matter are found, noise is not used, no row sees its own response."""

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from diffgbm.data.free_text import N_TOPICS, is_free_text, learn_text
from diffgbm.data.splits import k_folds

N = 500
RNG = np.random.default_rng(0)
TEXTS = [" ".join(f"word{k}" for k in RNG.integers(0, 60, 8)) for _ in range(N)]
FOLDS = k_folds(N, 5, 0)
NOISE = RNG.standard_normal((N, 1))


def series(values):
    return nw.from_native(pd.Series(values, dtype=object), series_only=True)


def test_many_words_that_hardly_repeat_are_text():
    assert is_free_text(tuple(set(TEXTS)), N)
    assert not is_free_text(tuple(set(TEXTS)), 100 * N)
    assert not is_free_text(("Bern", "Chur"), 2)
    assert not is_free_text((1, 2), 2)


@pytest.fixture(scope="module")
def learned():
    y = np.array([2.0 * ("word7 " in t) - ("word9 " in t) for t in TEXTS])[:, None] + 0.2 * NOISE
    return (*learn_text(TEXTS, y, None, FOLDS), y)


def test_words_that_matter_are_found(learned):
    text, matrix, y = learned
    assert text.names[:2] == ("prediction 0", "topic 0")
    assert matrix.shape == (N, 1 + N_TOPICS) == (N, text.width)
    assert text.detail == f"8 words: 1 cross-fitted prediction, {N_TOPICS} topics"
    assert np.corrcoef(matrix[:, 0], y[:, 0])[0, 1] > 0.5
    new = text.encode(series(["nothing of note word7 here", "nothing of note word9 here", None, ""]), "")
    assert new[0, 0] > new[2, 0] > new[1, 0]
    np.testing.assert_array_equal(new[2], new[3])
    # topics use no response and are the same for training rows and new ones
    np.testing.assert_allclose(text.encode(series(TEXTS), "")[:, 1:], matrix[:, 1:])


def test_no_row_sees_its_own_response(learned):
    _, matrix, y = learned
    changed = y.copy()
    changed[3] += 5.0
    again = learn_text(TEXTS, changed, None, FOLDS)[1]
    assert abs(again[3, 0] - matrix[3, 0]) < 1e-9
    assert np.abs(again[:, 0] - matrix[:, 0]).max() > 0.01


def test_text_that_says_nothing_is_not_used():
    text, matrix = learn_text(TEXTS, NOISE, np.ones(N), FOLDS)
    assert (text.width, matrix.shape) == (0, (N, 0))
    assert text.detail == "8 words that predict no better than chance: not used"
    assert text.encode(series(TEXTS[:3]), "").shape == (3, 0)
    np.testing.assert_array_equal(text.shown(series(["a b", None]), ""), [2.0, np.nan])
    assert text.text(2.0) == "2 words"


def test_texts_are_compared_by_value(learned):
    text, _, y = learned
    assert text == learn_text(TEXTS, y, None, FOLDS)[0]
    assert text != learn_text(TEXTS, NOISE, None, FOLDS)[0]
