"""Atoms are taken where they lower the CRPS of unseen rows."""

import re

import numpy as np
import pytest

from diffgbm.auto.atom_choice import accepted_atoms
from diffgbm.auto.budget import Clock
from diffgbm.fitting.training_table import read_table
from tests.auto.tiny_auto import LEAST, auto, small_trees  # noqa: F401
from tests.fitting.test_atoms import zero_inflated


def test_zeros_are_accepted_and_other_tables_have_no_atoms():
    X, y = zero_inflated(400)
    np.testing.assert_array_equal(accepted_atoms(read_table(X, y, None, None, "test"), 0, 1, Clock(None)), [0.0])
    rng = np.random.default_rng(0)
    for other in (rng.normal(size=400), rng.integers(0, 5, 400).astype(float), np.column_stack([y, y])):
        assert len(accepted_atoms(read_table(X, other, None, None, "test"), 0, 1, Clock(None))) == 0


def zeros_between(n):
    """A pile of zeros between negative and positive responses."""
    X, y = zero_inflated(n)
    y[::2] *= -1.0
    return X, y


def test_piles_at_an_end_are_atoms_whatever_the_crps_and_others_are_not(monkeypatch):
    """On the scale of the logarithm a model of 18% zeros without atoms had the lower CRPS, and predicted 8% zeros."""
    worse = lambda table, split, seed, n_jobs, atoms: np.full(len(split[1]), 1.0 if atoms else 0.5)  # noqa: E731
    monkeypatch.setattr("diffgbm.auto.atom_choice.probe_losses", worse)
    for (X, y), expected in ((zero_inflated(300), [0.0]), (zeros_between(300), [])):
        found = accepted_atoms(read_table(X, y, None, None, "test"), 0, 1, Clock(None))
        np.testing.assert_array_equal(found, expected)


def test_without_time_values_of_many_rows_are_atoms():
    X, y = zeros_between(100)
    clock = Clock(5.0, now=lambda: 0.0)
    np.testing.assert_array_equal(accepted_atoms(read_table(X, y, None, None, "test"), 0, 1, clock), [0.0])
    assert clock.cut


def test_every_row_of_a_small_table_is_held_out(monkeypatch):
    """A quarter of 300 rows tells atoms from chance no better than a coin."""
    seen = []

    def losses(table, split, seed, n_jobs, atoms):
        seen.append((atoms is not None, split[1]))
        # atoms are worse on the first held-out rows and better on all
        return np.where(len(seen) <= 2, 0.6, 0.0) + np.full(len(split[1]), 0.0 if atoms else 0.5)

    monkeypatch.setattr("diffgbm.auto.atom_choice.probe_losses", losses)
    X, y = zeros_between(300)
    found = accepted_atoms(read_table(X, y, None, None, "test"), 0, 1, Clock(None))
    np.testing.assert_array_equal(found, [0.0])
    for wanted in (True, False):
        held_out = np.concatenate([rows for is_with, rows in seen if is_with is wanted])
        np.testing.assert_array_equal(np.sort(held_out), np.arange(300))


def test_explain_is_about_all_rows():
    """Not about the continuous part, whose standard deviation is far from that of all rows."""
    X, y = zero_inflated(400)
    y[y > 0.0] += 50.0
    model = auto(LEAST).fit(X, y)
    crps = model.oob_distribution_.crps(y[model.oob_rows_]).mean()
    # of the other rows: a little worse than of all
    climatology = np.abs(y[:, None] - y).mean() / 2.0
    reference = float(re.search(r"instead of ([0-9.]+)\.", model.explain())[1])
    assert climatology < reference < 1.02 * climatology
    assert f"{1.0 - crps / reference:.0%} better than without any columns" in model.explain()
    assert f"is {crps:.4g} instead of" in model.explain()


def test_automatic_fits_have_atoms(tmp_path):
    X, y = zero_inflated(400)
    model = auto(LEAST).fit(X, y)
    assert "is exactly 0; candidates compete on other rows." in model.explain()
    fresh, observed = zero_inflated(1000, seed=1)
    distribution = model.predict_distribution(fresh)
    assert distribution.cdf(0.0).mean() == pytest.approx(np.mean(observed == 0.0), abs=0.05)
    assert (distribution.quantile(0.0) >= 0.0).all()
    samples = model.sample(fresh[:50], 100, seed=0)
    assert np.mean(samples == 0.0) == pytest.approx(distribution[:50].pmf(0.0).mean(), abs=0.03)
    np.testing.assert_array_equal(np.sort(model.oob_rows_), np.arange(400))
    assert model.oob_distribution_.crps(y[model.oob_rows_]).mean() == pytest.approx(
        distribution.crps(observed).mean(), rel=0.2
    )
    model.save(tmp_path / "m.dgbm")
    from diffgbm import load

    np.testing.assert_array_equal(
        load(tmp_path / "m.dgbm").predict_distribution(fresh[:9]).values, distribution[:9].values
    )
    assert auto(LEAST, discrete=False).fit(X, y).pool_.atoms is None
