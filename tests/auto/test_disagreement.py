"""How much the bags of a pool differ."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from diffgbm.auto.climatology import Climatology
from diffgbm.auto.disagreement import disagreement


@dataclass(frozen=True)
class FakeMember:
    """Bags that are centres of distributions of equal standard deviation."""

    bags: tuple[float, ...]
    std: float


def test_disagreement_by_hand():
    def points(candidate, member, rows):
        (centre,) = member.bags
        return np.tile((centre + member.std * np.array([-1.0, 1.0]))[:, None], (len(rows), 1, 1))

    trainer = SimpleNamespace(problem=SimpleNamespace(seed=0, n_rows=2000), points=points)

    def of(weights, *members, unit=3.0, climatology=None, outside=()):
        given = {"weights": np.array(weights), "climatology": climatology, "outside": outside}
        pool = SimpleNamespace(members=members, candidates=members, **given)
        return disagreement(trainer, pool, unit)

    assert of([1.0], FakeMember((0.3, 0.3, 0.3), 2.0)) == pytest.approx(0.0, abs=1e-12)
    assert of([1.0], FakeMember((5.0,), 2.0)) == 0.0  # one bag
    assert of([1.0], FakeMember((0.0, 1.0), 2.0)) == pytest.approx(0.25 / 4.0)
    # means of the pool: 0 and 0.25; variances: 1 + 0 and 0.25 (1 + 1) + 0.75 - 0.25**2
    pool = of([0.25, 0.75], FakeMember((0.0, 1.0), 1.0), FakeMember((0.0, 0.0, 9.0), 1.0))
    assert pool == pytest.approx(0.125**2 / np.mean([1.0, 1.25 - 0.0625]))
    # climatology widens the distributions of all bags: means 0 and 0.5, variances 0.5 (4 + 4) and the same + 0.25
    half = of([0.5], FakeMember((0.0, 1.0), 2.0), climatology=Climatology(np.array([[-2.0], [2.0]]), 0.5))
    assert half == pytest.approx(0.25**2 / np.mean([4.0, 4.25]))
    # the origin and the unit of the response do not matter
    assert of([1.0], FakeMember((1e9, 1e9 + 1.0), 2.0)) == pytest.approx(0.25 / 4.0)
    assert of([1.0], FakeMember((0.0, 1e200), 2e200), unit=1e200) == pytest.approx(0.25 / 4.0)
    # members from outside differ as ours do
    assert of([0.2], FakeMember((0.0, 1.0), 2.0), outside=("any",)) == pytest.approx(0.25 / 4.0)
    assert of([0.0], FakeMember((0.0, 1.0), 2.0), outside=("any",)) == pytest.approx(0.25 / 4.0)
