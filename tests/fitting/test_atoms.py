"""Atoms beside a continuous part: probabilities by classifiers, mixtures, samples, and models that have them."""

import numpy as np
import pytest

from diffgbm import DiffGBM, PredictiveDistribution, load
from diffgbm._util.errors import DiffGBMWarning
from diffgbm.fitting.atoms import ROUNDS, Atoms, atom_values
from diffgbm.fitting.training import fitted_atoms
from diffgbm.fitting.training_table import read_table

OPTIONS = {"n_estimators": 30, "n_repeats": 5, "num_leaves": 8, "seed": 0, "n_jobs": 1}


def probabilities(X):
    return np.column_stack([0.2 + 0.5 * X[:, 0], np.full(len(X), 0.1)])


ATOMS = Atoms(np.array([0.0, 5.0]), probabilities, np.array([0.5, 0.1]), np.ones(2), 0.0, 5.0)


def zero_inflated(n=600, seed=0):
    """Zeros, more of them at large x0, else exponential."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, np.where(rng.uniform(size=n) < 0.4 + 0.5 * (X[:, 0] > 0.5), 0.0, rng.exponential(size=n))


def unrelated_zeros(n, seed):
    """70% zeros, else exponential, whatever x is."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    return X, np.where(rng.uniform(size=n) < 0.7, 0.0, rng.exponential(size=n))


def capped(n=600, seed=0):
    """A sensor that saturates at both ends."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, np.clip(2.0 * X[:, 0] - 1.0 + 0.6 * rng.standard_normal(n), -0.8, 0.8)


@pytest.fixture(scope="module")
def fitted():
    return DiffGBM.flow(**OPTIONS, atoms=[0.0]).fit(*zero_inflated())


def test_a_mixture_has_the_probabilities_of_its_atoms():
    X = np.array([[0.0], [0.5], [1.0]])
    points = np.tile(np.linspace(-1.0, 6.0, 200), (3, 1))
    distribution = ATOMS.distribution(points, ATOMS.probabilities(X))
    np.testing.assert_allclose(distribution.pmf(0.0), [0.2, 0.45, 0.7], atol=0.006)
    np.testing.assert_allclose(distribution.pmf(5.0), 0.1, atol=0.006)
    assert (distribution.cdf(-1e-12) == 0.0).all()
    assert (distribution.cdf(5.0) == 1.0).all()
    assert distribution.values.shape == points.shape


def test_probabilities_shrink_towards_the_base_rates_and_sum_to_one_at_most():
    half = Atoms(np.array([0.0]), lambda X: X[:, :1], np.array([0.5]), np.array([0.5]), -np.inf, np.inf)
    np.testing.assert_allclose(half.probabilities(np.array([[0.0], [1.0]]))[:, 0], [0.25, 0.75])
    many = Atoms(np.array([0.0, 1.0]), lambda X: np.full((len(X), 2), 0.9), np.zeros(2), np.ones(2), 0.0, 1.0)
    np.testing.assert_allclose(many.probabilities(np.zeros((1, 1))), 0.5)
    everything = many.distribution(np.array([[0.3, 0.4, 0.5, 0.6]]), many.probabilities(np.zeros((1, 1))))
    np.testing.assert_array_equal(everything.values, [[0.0, 0.0, 1.0, 1.0]])


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (np.append(np.zeros(10), np.arange(1.0, 91.0)), [0.0]),
        (np.append(np.zeros(4), np.arange(1.0, 97.0)), []),
        (np.append(np.zeros(30), np.arange(1.0, 971.0)), [0.0]),
        (np.append(np.full(30, 5.0), np.arange(1.0, 971.0)), []),
        (np.repeat([0.0, 1.0, 2.0], 40), []),
        (np.concatenate([np.zeros(30), np.full(30, 9.0), np.linspace(1.0, 8.0, 40)]), [0.0, 9.0]),
    ],
    ids=["zeros", "too few", "an end", "too few inside", "nothing but atoms", "both ends"],
)
def test_atoms_are_values_of_many_rows(y, expected):
    np.testing.assert_array_equal(atom_values(y, "auto"), expected)


def test_atoms_of_the_caller_that_do_not_occur_are_left_out():
    np.testing.assert_array_equal(atom_values(np.array([3.0, 1.0, 2.0]), [7.0, 3.0, 1.0]), [1.0, 3.0])


def test_zeros_keep_their_probability(fitted):
    X, y = zero_inflated(2000, seed=1)
    distribution = fitted.predict_distribution(X)
    assert distribution.cdf(0.0).mean() == pytest.approx(np.mean(y == 0.0), abs=0.03)
    many = X[:, 0] > 0.5
    # regularised: a little nearer to each other than the shares of the training rows
    rows, responses = zero_inflated()
    for half, of_training in ((many, rows[:, 0] > 0.5), (~many, rows[:, 0] <= 0.5)):
        expected = np.mean(responses[of_training] == 0.0)
        assert distribution.pmf(0.0)[half].mean() == pytest.approx(expected, abs=0.05)
    assert np.sqrt(np.mean((distribution.pmf(0.0) - np.where(many, 0.9, 0.4)) ** 2)) < 0.09
    assert (distribution.quantile([0.0, 0.01, 0.5]) >= 0.0).all()
    with pytest.warns(DiffGBMWarning, match="y is exactly 0 in"):
        plain = DiffGBM.flow(**OPTIONS).fit(*zero_inflated())
    assert distribution.crps(y).mean() < 0.97 * plain.crps(X, y).mean()
    assert np.abs(plain.predict_distribution(X).cdf(0.0).mean() - np.mean(y == 0.0)) > 0.1


def test_zeros_beside_noise_are_nearly_as_good_as_the_truth():
    """A mean that was fitted to noise is left out, and the classifier is not trusted: 1.034 and 1.046 before."""
    for seed in (0, 1):
        (X, y), (fresh, observed) = unrelated_zeros(800, seed), unrelated_zeros(2000, seed + 100)
        model = DiffGBM.flow(atoms=[0.0], seed=0, n_jobs=1).fit(X, y)
        assert model.model_.first_stage is None or model.model_.first_stage.location is None
        distribution = model.predict_distribution(fresh)
        levels = (np.arange(400) + 0.5) / 400
        quantiles = np.where(levels < 0.7, 0.0, -np.log1p(-np.maximum(levels - 0.7, 0.0) / 0.3))
        truth = PredictiveDistribution.from_points(np.tile(quantiles, (2000, 1)), support=ATOMS.support)
        assert distribution.crps(observed).mean() < 1.03 * truth.crps(observed).mean()
        assert distribution.cdf(0.0).mean() == pytest.approx(0.7, abs=0.03)
        assert (distribution.quantile(0.0) >= 0.0).all()


def test_a_mean_that_helps_stays_beside_atoms():
    X, y = capped()
    assert DiffGBM.flow(**OPTIONS, atoms=[0.8]).fit(X, y).model_.first_stage.location is not None


def test_classifiers_end_when_their_time_is_over():
    X, y = zero_inflated(400)
    table = read_table(X, y, None, None, "test")
    hasty, patient = (fitted_atoms(table, [0.0], 0, 1, seconds) for seconds in (0.0, np.inf))
    assert {booster.num_trees() for booster in hasty.atoms.predictor.models[0]} == {1}
    assert {booster.num_trees() for booster in patient.atoms.predictor.models[0]} <= set(ROUNDS)
    assert hasty.out_of_fold.mean() == pytest.approx(np.mean(y == 0.0), abs=0.01)


def test_samples_hit_the_atoms_as_often_as_they_are_probable(fitted):
    X, _ = zero_inflated(50, seed=1)
    samples, expected = fitted.sample(X, 400, seed=0), fitted.predict_distribution(X).pmf(0.0)
    assert (samples >= 0.0).all()
    np.testing.assert_allclose((samples == 0.0).mean(axis=0), expected, atol=0.12)
    assert np.mean(samples == 0.0) == pytest.approx(expected.mean(), abs=0.015)
    np.testing.assert_array_equal(fitted.sample(X[20:], 400, seed=0, first_row=20), samples[:, 20:])


def test_files_hold_atoms(fitted, tmp_path):
    X, _ = zero_inflated(20, seed=1)
    fitted.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    np.testing.assert_array_equal(loaded.predict_distribution(X).values, fitted.predict_distribution(X).values)
    np.testing.assert_array_equal(loaded.sample(X, 20, seed=0), fitted.sample(X, 20, seed=0))
    assert loaded.atoms == [0.0]


def test_both_ends_of_a_capped_sensor():
    model = DiffGBM.flow(**OPTIONS, atoms="auto", n_bags=2).fit(*capped())
    np.testing.assert_array_equal(model.model_.atoms.values, [-0.8, 0.8])
    X, y = capped(2000, seed=1)
    distribution = model.predict_distribution(X)
    for end in (-0.8, 0.8):
        assert distribution.pmf(end).mean() == pytest.approx(np.mean(y == end), abs=0.03)
    assert distribution.quantile(0.0).min() >= -0.8
    assert distribution.quantile(1.0).max() <= 0.8
    # where the sensor is likely to saturate
    assert distribution.pmf(0.8)[X[:, 0] > 0.8].mean() > 2.0 * distribution.pmf(0.8).mean()
    out_of_bag = model.oob_distribution_
    assert len(out_of_bag) == 600
    assert out_of_bag.crps(capped()[1]).mean() == pytest.approx(distribution.crps(y).mean(), rel=0.15)


def test_without_atoms_the_argument_changes_no_bit():
    X, y = capped(200)
    y = y + 1e-6 * np.arange(200)
    plain, automatic = (DiffGBM.flow(**OPTIONS, atoms=atoms).fit(X, y) for atoms in (None, "auto"))
    np.testing.assert_array_equal(plain.sample(X, 3, seed=0), automatic.sample(X, 3, seed=0))


@pytest.mark.parametrize("atoms", ["zero", 0.0, [], [np.nan], ["a"], [[0.0]]])
def test_other_arguments_are_refused(atoms):
    with pytest.raises(ValueError, match="atoms must be None, 'auto' or a list of finite numbers"):
        DiffGBM(**OPTIONS, atoms=atoms).fit(*zero_inflated(60))


def test_atoms_need_a_continuous_part():
    X, y = zero_inflated(60)
    with pytest.raises(ValueError, match="at least 2 rows"):
        DiffGBM(**OPTIONS, atoms=np.unique(y).tolist()).fit(X, y)
    with pytest.raises(ValueError, match="at least 2 rows"):
        DiffGBM(**OPTIONS, atoms=np.unique(y).tolist()).fit(X, np.column_stack([y, X[:, 0]]))
