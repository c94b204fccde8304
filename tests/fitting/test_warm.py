import pickle

import numpy as np
import pytest

import diffgbm
from diffgbm.engine import prepared
from diffgbm.first_stage import _leaf_kernels
from diffgbm.fitting import warm
from tests.conftest import toy

X = toy(25, seed=5)[0]


def test_warmup_compiles_the_first_stages_kernel_for_what_a_leaf_forest_passes():
    diffgbm.warmup()
    signatures = list(_leaf_kernels.average_leaves.signatures)
    diffgbm.DiffGBM.flow(n_estimators=5, first_stage_features="cdf", n_jobs=1, seed=0).fit(
        [[float(i)] for i in range(90)], [float(i % 7) for i in range(90)]
    )
    assert list(_leaf_kernels.average_leaves.signatures) == signatures


def test_warm_up_prepares_forests_once(flow_model, recwarn):
    model = pickle.loads(pickle.dumps(flow_model))
    assert warm.times_prepared(model.fitted_models()) == 0
    assert model.warm_up() is model
    assert warm.times_prepared(model.fitted_models()) == 1
    np.testing.assert_array_equal(model.predict_quantiles(X), flow_model.predict_quantiles(X))
    assert warm.times_prepared(model.fitted_models()) == 1
    assert not [each for each in recwarn if "warm_up" in str(each.message)]


def test_warm_up_says_that_forests_do_not_fit(flow_model, monkeypatch):
    monkeypatch.setattr(prepared.ledger, "limit", 1 << 10)
    model = pickle.loads(pickle.dumps(flow_model))
    with pytest.warns(UserWarning, match="DIFFGBM_PREPARED_MB"):
        model.warm_up()
    np.testing.assert_array_equal(model.predict_quantiles(X), flow_model.predict_quantiles(X))


def test_prepared_forests_are_not_in_pickles_or_files(flow_model, tmp_path):
    model = pickle.loads(pickle.dumps(flow_model))
    before = len(pickle.dumps(model))
    model.save(tmp_path / "before.dgbm")
    model.warm_up().save(tmp_path / "after.dgbm")
    assert len(pickle.dumps(model)) == before
    assert (tmp_path / "after.dgbm").read_bytes() == (tmp_path / "before.dgbm").read_bytes()
