"""Designs of the noisy copies: exact distributions, even coverage, and copies that depend on their row only."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import qmc

from diffgbm import DiffGBM
from diffgbm.diffusion.noise_levels import TIME_SAMPLINGS
from diffgbm.diffusion.paths import T_MIN
from diffgbm.fitting.noise_design import MOST, NOISE_DESIGNS, NOISY_ROWS, check_copies, copies, lattice
from tests.exact import ks_distance, ks_limit

SEED = np.random.SeedSequence(5)
FLOW = DiffGBM.flow().recipe


def drawn(design, recipe=FLOW, repeats=30, rows=400, d=1, seed=SEED):
    """Times (repeats, rows) and noise (repeats, rows, d)."""
    positions = np.arange(rows) if isinstance(rows, int) else rows
    times, noise = NOISE_DESIGNS[design].draw(recipe, repeats, positions, d, seed)
    return times.reshape(repeats, -1), noise.reshape(repeats, -1, d)


@pytest.mark.parametrize("design", NOISE_DESIGNS)
@pytest.mark.parametrize("copy", [0, 17])
def test_every_copy_of_a_row_has_independent_normals(design, copy):
    _, noise = drawn(design, rows=4000, d=2)
    z = noise[copy]
    for j in range(2):
        assert ks_distance(z[:, j], ndtr) < ks_limit(len(z))
    assert abs(np.corrcoef(z.T)[0, 1]) < 4.0 / np.sqrt(len(z))


@pytest.mark.parametrize("kind", TIME_SAMPLINGS)
@pytest.mark.parametrize("copy", [0, 17])
def test_every_copy_of_a_row_has_the_distribution_of_independent_times(kind, copy):
    recipe = DiffGBM.flow(t_sampling=kind, uniform_endpoint_fraction=0.1).recipe
    even, independent = (drawn(design, recipe, rows=4000)[0] for design in ("even", "independent"))
    t, many = even[copy], np.sort(independent.ravel())
    inside = many[(many > T_MIN) & (many < 1.0)]
    # atoms at the ends: the anchor of uniform times, and times that are clipped
    for end in (T_MIN, 1.0):
        share = np.mean(many == end)
        assert np.mean(t == end) == pytest.approx(share, abs=4.0 * np.sqrt(share / len(t)) + 1e-3)
    rest = t[(t > T_MIN) & (t < 1.0)]
    assert ks_distance(rest, lambda u: np.searchsorted(inside, u) / len(inside)) < ks_limit(len(rest)) + 0.005


def test_the_endpoint_anchor_is_a_share_of_every_row():
    recipe = DiffGBM.flow(uniform_endpoint_fraction=0.05).recipe
    times, noise = drawn("even", recipe, repeats=30, rows=4000)
    anchors = times == 1.0
    assert set(anchors.sum(axis=0)) == {1, 2}
    assert anchors.mean() == pytest.approx(0.05, abs=4.0 * 0.5 / 30 / np.sqrt(4000))
    z = noise[:, :, 0][anchors]
    assert ks_distance(z, ndtr) < ks_limit(len(z))
    assert np.all(drawn("even", DiffGBM.flow(uniform_endpoint_fraction=1.0).recipe)[0] == 1.0)


@pytest.mark.parametrize("repeats", [1, 2, 7, 30, 64])
@pytest.mark.parametrize("d", [1, 3])
def test_every_row_has_one_copy_in_each_range(repeats, d):
    recipe = DiffGBM.flow(uniform_endpoint_fraction=0.0).recipe
    times, noise = drawn("even", recipe, repeats, 50, d)
    for u in ((times - T_MIN) / (1.0 - T_MIN), *np.moveaxis(ndtr(noise), 2, 0)):
        assert np.all(np.ptp(np.sort(u, axis=0) - np.arange(repeats)[:, None] / repeats, axis=0) < 1e-9)


@pytest.mark.parametrize(
    ("repeats", "d", "most"), [(16, 1, 0.2), (30, 1, 0.1), (128, 1, 0.04), (30, 2, 0.2), (30, 5, 0.6)]
)
def test_the_copies_of_a_row_cover_time_and_noise_evenly(repeats, d, most):
    recipe = DiffGBM.flow(uniform_endpoint_fraction=0.0).recipe
    discrepancy = {}
    for design in NOISE_DESIGNS:
        times, noise = drawn(design, recipe, repeats, 12, d)
        cube = np.concatenate([((times - T_MIN) / (1.0 - T_MIN))[:, :, None], ndtr(noise)], axis=2)
        discrepancy[design] = np.mean([qmc.discrepancy(np.clip(cube[:, i], 0.0, 1.0)) for i in range(12)])
    assert discrepancy["even"] < most * discrepancy["independent"]


def test_copies_depend_on_seed_and_position_only():
    whole, some = drawn("even", rows=100), drawn("even", rows=np.array([70, 3]))
    for every, few in zip(whole, some, strict=True):
        np.testing.assert_array_equal(every[:, [70, 3]], few)
    other = drawn("even", rows=100, seed=np.random.SeedSequence(6))
    assert not np.any(other[1] == whole[1])
    assert len(np.unique(whole[1])) == whole[1].size


def test_independent_copies_are_those_of_one_generator():
    rng = np.random.default_rng(SEED)
    times, noise = drawn("independent", rows=9, d=2)
    np.testing.assert_array_equal(times.ravel(), FLOW.times.draw(270, FLOW.path, rng))
    np.testing.assert_array_equal(noise.reshape(270, 2), rng.standard_normal((270, 2)))


@pytest.mark.parametrize("n", [1, 2, 3, 30, 31, 1000])
def test_lattices_of_any_size(n):
    points = lattice(n, 4).astype(np.float64) / 2.0**64
    assert points.shape == (n, 4)
    np.testing.assert_allclose(np.sort(points, axis=0), np.repeat(np.arange(n)[:, None] / n, 4, axis=1), atol=1e-12)


def test_copies_of_small_and_large_tables():
    assert copies(30, 10**6) == 30
    assert copies("auto", 5000) == NOISY_ROWS // 5000 == 30
    assert (copies("auto", 10), copies("auto", 10**5), copies("auto", 10**6), copies("auto", 10**7)) == (MOST, 8, 3, 2)
    check_copies("auto")
    check_copies(1)
    for wrong in ("many", 0, 2.5, None, True):
        with pytest.raises(ValueError, match="n_repeats must be an integer >= 1"):
            check_copies(wrong)


PAPER = {
    "published": ([0.8050048737161427, 0.8079427103285963], [0.27276877584472176, -1.2333286640307717]),
    "score_plus": ([0.3218848293687259, 0.24062940022314772], [0.27276877584472176, -1.2333286640307717]),
    "flow": ([0.8050048737161427, 1.0], [-1.2333286640307717, -0.9582652054360887]),
}
"""First times and noise of five rows with two copies, as they were before there was a choice."""


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_rows_draw_the_noise_that_they_always_drew(name):
    model = DiffGBM.from_recipe(name)
    times, noise = drawn(model.noise_design, model.recipe, repeats=2, rows=5)
    expected = PAPER[name]
    np.testing.assert_allclose(times.ravel()[:2], expected[0], rtol=1e-9)
    np.testing.assert_allclose(noise.ravel()[:2], expected[1], rtol=1e-9)
