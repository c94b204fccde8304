"""Tables of a scalar state equal LightGBM's predictions."""

import pytest

from diffgbm.engine.scalar import used_knots

from . import models


@pytest.mark.parametrize("kind", sorted(models.KINDS))
def test_scalar_tables_are_predict(kind):
    models.check_tables([models.booster(1, 1, 5, **models.KINDS[kind])], 1, seed=6, awkward=0.2)


@pytest.mark.parametrize(("steps", "corrector", "knots"), [(5, 0.0, 5), (5, 0.5, 6), (0, 0.0, 0)])
def test_only_a_corrector_needs_the_last_knot(steps, corrector, knots):
    assert used_knots(models.step_table(1, steps=steps, corrector=corrector)) == knots
