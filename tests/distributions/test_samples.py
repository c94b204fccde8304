import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.neighbors import KernelDensity

from diffgbm import Samples

RNG = np.random.default_rng(0)
ONE = RNG.standard_normal((50, 4))
TWO = RNG.standard_normal((50, 4, 2))


@pytest.mark.parametrize("array", [ONE, ONE[:, :, None], TWO], ids=["one response", "one of three axes", "two"])
def test_statistics_are_numpys_over_the_samples(array):
    samples = Samples(array)
    for got, expected in (
        (samples.sample_mean(), array.mean(0)),
        (samples.sample_std(), array.std(0)),
        (samples.sample_std(ddof=1), array.std(0, ddof=1)),
        (samples.sample_median(), np.median(array, 0)),
        (samples.sample_min(), array.min(0)),
        (samples.sample_max(), array.max(0)),
        (samples.sample_quantile(0.3), np.quantile(array, 0.3 if array.ndim == 2 else [0.3], 0)),
        (samples.sample_quantile([0.1, 0.9]), np.quantile(array, [0.1, 0.9], 0)),
        (samples.sample_apply(np.mean), array.mean(0)),
        (samples.sample_apply(lambda s: s[:3]), array[:3]),
    ):
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected)


@pytest.mark.parametrize("array", [ONE, ONE[:, :, None]], ids=["two axes", "three axes"])
def test_intervals_and_ranges_keep_the_axis_of_one_response(array):
    samples = Samples(array)
    np.testing.assert_allclose(samples.sample_confidence_interval(0.8), np.quantile(array, [0.1, 0.9], 0))
    np.testing.assert_array_equal(samples.sample_range(), np.stack([array.min(0), array.max(0)], -1))
    assert samples.sample_mode(0.3).shape == (4,)


def test_methods_of_one_response_refuse_several():
    samples = Samples(TWO)
    for method in (samples.sample_confidence_interval, samples.sample_mode, samples.sample_range):
        with pytest.raises(ValueError, match=r"only applies to unidimensional responses; these samples have 2"):
            method()
    assert samples[..., 1].sample_mode(0.3).shape == (4,)


@pytest.mark.parametrize(("array", "y_dim"), [(ONE, 1), (ONE[:, :, None], 1), (TWO, 2)])
def test_sizes(array, y_dim):
    samples = Samples(array)
    assert (samples.n_samples, samples.batch, samples.y_dim) == (50, 4, y_dim)


def test_shape_and_conversion():
    samples = Samples(ONE)
    assert samples.shape == (50, 4)
    assert (samples.n_samples, samples.ndim, len(samples)) == (50, 2, 50)
    np.testing.assert_array_equal(samples.to_numpy(), ONE)
    np.testing.assert_array_equal(np.asarray(samples), ONE)
    assert np.asarray(samples, dtype=np.float32).dtype == np.float32
    assert repr(samples) == "Samples(shape=(50, 4))"
    assert Samples(ONE.tolist()).shape == (50, 4)


@pytest.mark.parametrize(
    ("key", "shape"),
    [
        (slice(10), (10, 4, 2)),
        ([3], (1, 4, 2)),
        (([0], Ellipsis), (1, 4, 2)),
        ((slice(None), [0, 3]), (50, 2, 2)),
        ((slice(None), np.array([True, False, True, False])), (50, 2, 2)),
        ((slice(None), slice(None), 1), (50, 4)),
        ((slice(None), slice(None), [1]), (50, 4, 1)),
        ((Ellipsis, 0), (50, 4)),
        ((Ellipsis, -1), (50, 4)),
        ((Ellipsis, slice(1, 3), slice(None)), (50, 2, 2)),
        ((slice(1, 3), slice(2, 4), 1), (2, 2)),
    ],
)
def test_indexing_keeps_the_axes_of_samples_and_rows(key, shape):
    part = Samples(TWO)[key]
    assert isinstance(part, Samples)
    assert part.shape == shape
    np.testing.assert_array_equal(part.to_numpy(), TWO[key])


@pytest.mark.parametrize(
    ("array", "key", "name"),
    [
        (TWO, 0, "first"),
        (TWO, np.int64(3), "first"),
        (TWO, (0, 1, 1), "first"),
        (TWO, (0, Ellipsis), "first"),
        (TWO, (slice(None), -1), "second"),
        (TWO, (slice(None), 0, Ellipsis), "second"),
        (ONE, 0, "first"),
        (ONE, (Ellipsis, 0), "second"),
    ],
)
def test_an_integer_does_not_remove_samples_or_rows(array, key, name):
    with pytest.raises(ValueError, match=f"would remove the {name} dimension of the samples"):
        Samples(array)[key]


@pytest.mark.parametrize("key", [None, TWO[:, :, 0] > 0.0, ([0, 1], [2, 3]), (slice(None), None)])
def test_keys_that_change_the_axes_are_refused(key):
    with pytest.raises(ValueError, match="a slice, a list or a mask for each dimension of the samples"):
        Samples(TWO)[key]


@given(arrays(np.float64, (7, 3), elements=st.floats(-1e6, 1e6)), st.floats(0.01, 0.99))
def test_intervals_are_ordered_and_inside_the_range(array, confidence):
    samples = Samples(array)
    low, high = samples.sample_confidence_interval(confidence)
    slack = 1e-9 * (1.0 + np.abs(array).max())
    assert (low <= samples.sample_median() + slack).all()
    assert (samples.sample_median() <= high + slack).all()
    assert (low >= samples.sample_min() - slack).all()
    assert (high <= samples.sample_max() + slack).all()


def test_correlation_is_numpys():
    samples = Samples(TWO)
    correlation = samples.sample_correlation()
    for i in range(4):
        np.testing.assert_allclose(correlation[i], np.corrcoef(TWO[:, i].T))


def test_correlation_needs_several_responses():
    with pytest.raises(ValueError, match="response"):
        Samples(ONE).sample_correlation()


def test_kernel_densities_of_several_responses():
    kernels = Samples(TWO).sample_kde(bandwidth=0.3)
    assert [kernel.n_features_in_ for kernel in kernels] == [2] * 4


def test_kernel_densities_and_modes():
    array, samples = ONE, Samples(ONE)
    kernels = samples.sample_kde(bandwidth=0.3)
    assert len(kernels) == 4
    assert all(isinstance(kernel, KernelDensity) for kernel in kernels)
    points = array[:, 0].reshape(50, -1)
    expected = points[np.argmax(KernelDensity(bandwidth=0.3).fit(points).score_samples(points))]
    modes = samples.sample_mode(bandwidth=0.3)
    assert modes.shape == array.shape[1:]
    assert modes[0] == expected[0]
    assert len(samples.sample_kde(bandwidth="scott")) == 4


def test_modes_of_many_samples_are_searched_among_some():
    many = RNG.normal(1.0, np.sqrt(2.0), (10_000, 2, 1))
    np.testing.assert_allclose(Samples(many).sample_mode(), 1.0, atol=0.15)


def test_the_mode_is_where_the_samples_are():
    crowd = np.concatenate([RNG.normal(3.0, 0.1, 80), RNG.normal(-3.0, 0.1, 20)])[:, None]
    assert Samples(crowd).sample_mode(bandwidth=0.2) == pytest.approx(3.0, abs=0.3)


@pytest.mark.parametrize("bad", [np.ones(3), np.ones((2, 2, 2, 2)), 3.0])
def test_bad_shapes_are_refused(bad):
    with pytest.raises(ValueError, match=r"Samples needs an array of shape \(n_samples, batch\) or .*; got shape"):
        Samples(bad)


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.5, 95])
def test_bad_confidence_is_refused(bad):
    with pytest.raises(ValueError, match=f"confidence must lie between 0 and 1; got {bad}"):
        Samples(ONE).sample_confidence_interval(bad)


def test_samples_of_a_model(flow_model):
    X = np.full((3, 3), 0.5)
    array = flow_model.sample(X, 40, seed=0)
    np.testing.assert_allclose(Samples(array).sample_mean(), array.mean(axis=0))
