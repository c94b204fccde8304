"""Power scales: increasing, inverted exactly, and linear beyond the training responses."""

import numpy as np
import pytest

from diffgbm.data.power_scale import PowerScale
from diffgbm.data.response import ResponseTable

Y = np.random.default_rng(0).lognormal(3.0, 1.0, 300)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_there_and_back(power):
    scale = PowerScale.of(Y, None, power)
    values = np.linspace(-2.0 * Y.max(), 3.0 * Y.max(), 1001)
    z = scale(values)
    assert (np.diff(z) > 0.0).all()
    np.testing.assert_allclose(scale.inverse(z), values, rtol=1e-9, atol=1e-9 * Y.max())


def test_formulas():
    log, root = (PowerScale(power, unit=2.0, highest=100.0, spread=1.0) for power in (0.0, 0.5))
    y = np.array([0.0, 1.0, 50.0, 100.0])
    np.testing.assert_allclose(log(y), np.log(1.0 + y / 2.0))
    np.testing.assert_allclose(root(y), 2.0 * (np.sqrt(1.0 + y / 2.0) - 1.0))


def test_far_beyond_the_training_responses_it_is_linear():
    scale = PowerScale.of(Y, None, 0.0)
    top = scale(np.array([Y.max()]))
    steps = np.diff(scale.inverse(top + np.arange(5.0)))
    np.testing.assert_allclose(steps, Y.max() + scale.unit)
    assert scale.inverse(top + 20.0)[0] < 25.0 * Y.max()  # its exponential would be 5e8 times the largest response


def test_the_scale_follows_the_users_units():
    a, b = PowerScale.of(Y, None, 0.0), PowerScale.of(1000.0 * Y, None, 0.0)
    np.testing.assert_allclose(a(Y), b(1000.0 * Y))


@pytest.mark.parametrize("y", [np.array([-1.0, 2.0, 3.0]), np.zeros(3), np.full(3, 2.0)])
def test_other_responses_have_none(y):
    assert PowerScale.of(y, None, 0.0) is None


def test_a_response_table_standardises_on_its_scale():
    plain, _ = ResponseTable.learn(Y, None, len(Y))
    table = plain.on_scale(PowerScale.of(Y, None, 0.0), Y[:, None], None)
    z = table.standardise(Y[:, None])
    assert z.mean() == pytest.approx(0.0, abs=1e-12)
    assert z.std() == pytest.approx(1.0)
    np.testing.assert_allclose(table.restore(z), Y[:, None], rtol=1e-12)
    assert table.units == pytest.approx(plain.scale)
