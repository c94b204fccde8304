"""Values of command-line options: read, or refused with the name of the option."""

import math

import pytest

from diffgbm import AutoDiffGBM, DiffGBM
from diffgbm.cli.options import (
    DEFAULT_RECIPE,
    RECIPES,
    coverage_levels,
    estimator_of,
    limits_of,
    quantile_levels,
    seconds,
    settings,
)
from diffgbm.data.table_files import TableFileError
from diffgbm.diffusion.recipe import NAMED

COMMON = {"seed": 3, "jobs": 1, "verbose": 0}


@pytest.mark.parametrize(("text", "levels"), [(".05,.5,.95", [0.05, 0.5, 0.95]), ("0,1", [0.0, 1.0]), (" .5 ", [0.5])])
def test_levels_are_read(text, levels):
    assert quantile_levels(text) == levels


@pytest.mark.parametrize("text", ["", "a", ".5,", "1.5", "-.1", "nan"])
def test_other_levels_are_refused(text):
    with pytest.raises(TableFileError, match="--quantiles must be levels from 0 to 1"):
        quantile_levels(text)


def test_coverages():
    assert coverage_levels([0.9, 0.5, 0.9]) == [0.9, 0.5]
    assert coverage_levels([]) == []
    for value in (0.0, 1.0, 90.0, math.nan):
        with pytest.raises(TableFileError, match="--interval must lie between 0 and 1"):
            coverage_levels([0.5, value])


def test_settings_are_numbers_truth_values_null_or_text():
    options = ["num_leaves=63", "learning_rate=0.1", "pf_ode=true", "early_stopping_rounds=null", "residualize=off"]
    assert settings(options) == {
        "num_leaves": 63,
        "learning_rate": 0.1,
        "pf_ode": True,
        "early_stopping_rounds": None,
        "residualize": "off",
    }
    assert settings(["discrete=auto"], AutoDiffGBM) == {"discrete": "auto"}


def test_other_settings_are_refused():
    with pytest.raises(TableFileError, match=r"--set must be name=value, e\.g\. num_leaves=63; got 'num_leaves'"):
        settings(["num_leaves"])
    with pytest.raises(ValueError, match=r"--set must be one of .*; got 'leaves'.* Did you mean 'num_leaves'"):
        settings(["leaves=3"])


def test_seconds():
    assert seconds("--minutes", None) is None
    assert seconds("--minutes", 1.5, 60.0) == 90.0
    for wrong in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(TableFileError, match="--minutes must be a number > 0"):
            seconds("--minutes", wrong)


def test_recipes_are_those_of_the_table():
    assert [name.replace("+", "_plus") for name in RECIPES] == list(NAMED)
    for name, arguments in NAMED.items():
        model = estimator_of(name.replace("_plus", "+"), None, None, ["num_leaves=7"], **COMMON)
        assert isinstance(model, DiffGBM)
        assert model.get_params().items() >= {**arguments, "num_leaves": 7, "seed": 3, "n_jobs": 1}.items()
    assert DEFAULT_RECIPE in RECIPES


def test_a_preset_or_a_time_limit_makes_an_automatic_fit():
    for preset, limit, expected in (("fast", None, ("fast", None)), (None, 9.0, ("balanced", 9.0))):
        model = estimator_of(None, preset, limit, [], **COMMON)
        assert isinstance(model, AutoDiffGBM)
        assert (model.preset, model.time_limit) == expected
    with pytest.raises(TableFileError, match="use one or the other"):
        estimator_of("flow", "fast", None, [], **COMMON)
    with pytest.raises(ValueError, match=r"--preset must be one of .*; got 'quick'"):
        estimator_of(None, "quick", None, [], **COMMON)
    with pytest.raises(ValueError, match="--seed must be an integer >= 0"):
        estimator_of(None, None, None, [], seed=-1, jobs=1, verbose=0)


def test_limits_of_the_target():
    assert limits_of(None) == {}
    assert limits_of(("0", "none")) == {"support": (0.0, None)}
    assert limits_of(("None", "1e3")) == {"support": (None, 1000.0)}
    for wrong in (("2", "1"), ("a", "1"), ("nan", "1"), ("1", "1")):
        with pytest.raises(TableFileError, match=r"--support must be two numbers.*got " + " ".join(wrong)):
            limits_of(wrong)
    model = estimator_of("flow", None, None, [], seed=0, jobs=1, verbose=0, support=("0", "none"))
    assert model.support == (0.0, None)
    assert estimator_of(None, None, None, [], seed=0, jobs=1, verbose=0).support == "auto"
