"""Values of a function at points: what is refused, what is monotone, what is flat."""

import numpy as np
import pytest

from diffgbm.distributions.images import direction, flat_values, image, image_support, joint_image, monotone_support
from diffgbm.distributions.support import Support

POINTS = np.array([[-2.0, -1.0, 1.0, 2.0], [0.5, 1.5, 2.5, 3.5]])


@pytest.mark.parametrize(
    ("function", "expected"), [(np.exp, 1), (np.negative, -1), (np.square, 0), (np.zeros_like, 1), (np.sign, 1)]
)
def test_directions(function, expected):
    assert direction(function(POINTS)) == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (np.exp, []),
        (np.square, []),  # -1 and 1 are neighbours with the same square, but 0 lies between them
        (lambda y: np.maximum(y, 1.75), [1.75]),
        (lambda y: np.clip(y, -1.5, 1.5), [1.5]),
        (lambda y: y > 0.0, [0.0, 1.0]),
    ],
)
def test_flat_values(function, expected):
    assert flat_values(function, POINTS, image(function, POINTS)).tolist() == expected


def test_points_that_differ_by_rounding_make_no_atom():
    points = np.array([[1.0, np.nextafter(1.0, 2.0)]])
    assert len(flat_values(lambda y: np.round(y, 12), points, np.ones((1, 2)))) == 0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (np.log, r"returns nan at -2.0, and is not finite at 2 of 8 points"),
        (lambda y: 1.0 / (y - 1.0), "returns inf at 1.0"),
        (lambda y: y.sum(axis=1), r"keep the shape \(2, 4\)"),
    ],
)
def test_functions_that_are_refused(function, message):
    with pytest.raises(ValueError, match=message):
        image(function, POINTS)


def test_functions_of_several_responses():
    points = np.arange(12.0).reshape(2, 3, 2)
    np.testing.assert_array_equal(joint_image(lambda p: p.sum(axis=-1), points), points.sum(axis=2))
    with pytest.raises(ValueError, match="one number each"):
        joint_image(np.exp, points)


def test_support_of_an_image():
    support = image_support(np.square, Support(-3.0, 4.0, np.array([0.0, 2.0])), POINTS, np.array([7.0]))
    assert support.low == pytest.approx(0.0, abs=1e-5)
    assert support.high == 3.5**2
    assert support.atoms.tolist() == [0.0, 4.0, 7.0]


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [(np.exp, 0.0, np.inf), (np.log, -np.inf, np.inf), (lambda y: np.minimum(y, 3.0), -np.inf, 3.0)],
)
def test_limits_of_increasing_functions(function, low, high):
    support = monotone_support(function, None)
    assert (support.low, support.high, len(support.atoms)) == (low, high, 0)
    atoms = monotone_support(np.exp, Support(0.0, 2.0, np.array([0.0, 1.0])))
    assert (atoms.low, atoms.high, atoms.atoms.tolist()) == (1.0, np.exp(2.0), [1.0, np.exp(1.0)])
