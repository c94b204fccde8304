"""The work of a prediction is counted in ``test_compression``, which compares pools by it."""

import pytest

from diffgbm.auto import operations
from diffgbm.auto.operations import Operations, Work
from tests.auto.test_compression import pool_of
from tests.conftest import tiny, toy


def test_noise_steps_and_trees_are_work():
    X, y = toy()
    models = [tiny("flow").fit(X, y), tiny("published", n_steps=10).fit(X, y), tiny("published", n_steps=40).fit(X, y)]
    flow, few, many = (Operations.of(pool_of(model)).bags[0][0].total(377, 1.0) for model in models)
    assert flow < few < many
    lightgbm = tiny("flow", engine="lightgbm").fit(X, y)
    assert Operations.of(pool_of(lightgbm)).bags == ((Work(rest=operations.OTHER),),)
    assert Operations.of(pool_of(models[0])).total(((0,),)) == pytest.approx(
        operations.ALWAYS + flow + sum(Operations.of(pool_of(models[0])).predictors.values())
    )
