"""Search spaces: the paper's ranges and nothing else, corners that are the named recipes, configurations that build."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffgbm import DiffGBM
from diffgbm.diffusion.recipe import RESIDUALIZER_A, RESIDUALIZER_C
from diffgbm.fitting.training import check_arguments
from diffgbm.tuning.search_spaces import CORNERS, SCORE_AXES, SPACES, SURFACE, Choice, Integer, Real

PAPER_SURFACE = {
    "n_estimators": ("int", 200, 3000, "log"),
    "learning_rate": ("float", 0.001, 0.3, "log"),
    "num_leaves": ("int", 15, 255, "linear"),
    "max_depth": ("one of", -1, 4, 6, 8, 10),
    "min_child_samples": ("int", 5, 100, "linear"),
    "subsample": ("float", 0.5, 1.0, "linear"),
    "max_bin": ("one of", 255, 1023, 4095),
}
PAPER_SCORE_FLEX = {
    **PAPER_SURFACE,
    "score_parameterization": ("one of", "noise", "edm"),
    "noise_features": ("one of", "raw_time", "raw_time_log_std"),
    "t_sampling": ("one of", "uniform", "log_sigma_normal"),
    "log_sigma_p_mean": ("float", -3.0, 0.0, "linear"),
    "log_sigma_p_std": ("float", 0.6, 2.0, "linear"),
    "loss_weighting": ("one of", "uniform", "min_snr"),
    "min_snr_gamma": ("float", 1.0, 5.0, "linear"),
    "residualize": ("one of", "off", "mean"),
    "residualizer": ("one of", "A", "C"),
}
FLEX = ("score_flex_sde", "score_flex_ode")


class Recorder:
    """A trial that hypothesis chooses for, and that writes down what it was asked."""

    def __init__(self, draw):
        self.draw, self.asked, self.params = draw, {}, {}

    def _answer(self, name, question, strategy):
        assert name not in self.asked, f"{name} is asked for twice"
        self.asked[name], self.params[name] = question, self.draw(strategy)
        return self.params[name]

    def suggest_int(self, name, low, high, *, log=False):
        return self._answer(name, ("int", low, high, "log" if log else "linear"), st.integers(low, high))

    def suggest_float(self, name, low, high, *, log=False):
        return self._answer(name, ("float", low, high, "log" if log else "linear"), st.floats(low, high))

    def suggest_categorical(self, name, choices):
        return self._answer(name, ("one of", *choices), st.sampled_from(choices))


class Fixed:
    """A trial whose choices are made; it refuses what is out of range."""

    def __init__(self, params):
        self.params = dict(params)

    def suggest_int(self, name, low, high, *, log=False):
        assert isinstance(self.params[name], int)
        return self.suggest_float(name, low, high)

    def suggest_float(self, name, low, high, *, log=False):
        assert low <= self.params[name] <= high
        return self.params[name]

    def suggest_categorical(self, name, choices):
        assert self.params[name] in choices
        return self.params[name]


def paper(space):
    return PAPER_SCORE_FLEX if space in FLEX else PAPER_SURFACE


@pytest.mark.parametrize("space", SPACES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_space_asks_only_what_the_paper_tunes_and_builds(space, data):
    trial = Recorder(data.draw)
    params = SPACES[space](trial)
    assert all(paper(space)[name] == question for name, question in trial.asked.items())
    assert set(PAPER_SURFACE) <= set(trial.asked)
    model = DiffGBM(**params, seed=0)
    check_arguments(model.get_params())
    assert model.recipe is not None
    for name in PAPER_SURFACE:
        assert params[name] == trial.params[name]
    assert json.loads(json.dumps(params)) == params
    assert SPACES[space](Fixed(trial.params)) == params


@pytest.mark.parametrize("space", FLEX)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_score_flex_asks_what_counts_and_only_that(space, data):
    trial = Recorder(data.draw)
    params = SPACES[space](trial)
    chosen = trial.params
    assert ("log_sigma_p_mean" in chosen) == ("log_sigma_p_std" in chosen) == (chosen["t_sampling"] != "uniform")
    assert ("min_snr_gamma" in chosen) == (chosen["loss_weighting"] == "min_snr")
    assert ("residualizer" in chosen) == (chosen["residualize"] == "mean")
    residualizers = {"A": RESIDUALIZER_A, "C": RESIDUALIZER_C, None: None}
    assert params.get("extra_residualizer_params") == residualizers[chosen.get("residualizer")]
    assert "residualizer" not in params


@pytest.mark.parametrize("space", FLEX)
def test_score_flex_reaches_every_axis_of_the_paper(space):
    asked = set()
    for choice in (0, -1):

        class Extreme(Recorder):
            def _answer(self, name, question, strategy, choice=choice):
                self.asked[name] = question
                return question[1:][choice] if question[0] == "one of" else question[1]

        trial = Extreme(None)
        SPACES[space](trial)
        asked |= set(trial.asked)
    assert asked == set(PAPER_SCORE_FLEX) == set(SURFACE) | set(SCORE_AXES)


def at(space, params):
    return DiffGBM(**SPACES[space](Fixed(params)))


def test_the_corners_are_the_named_recipes():
    published, score_plus = CORNERS["score_flex_sde"]
    assert CORNERS["score_flex_ode"] == (published, score_plus)
    assert set(CORNERS) == set(FLEX)
    assert at("score_flex_sde", published).recipe == DiffGBM.published().recipe
    assert at("score_flex_ode", score_plus).recipe == DiffGBM.score_plus().recipe
    sde = DiffGBM.published().recipe.sampler
    assert at("score_flex_sde", score_plus).recipe == replace(DiffGBM.score_plus().recipe, sampler=sde)
    ode = DiffGBM.score_plus().recipe.sampler
    assert at("score_flex_ode", published).recipe == replace(DiffGBM.published().recipe, sampler=ode)


def test_the_corners_have_the_estimators_own_surface_and_residualizer():
    default = DiffGBM()
    for corner, named in zip(CORNERS["score_flex_sde"], (DiffGBM.published(), DiffGBM.score_plus()), strict=True):
        model = at("score_flex_sde", corner)
        for name in (*PAPER_SURFACE, "n_repeats", "early_stopping_rounds"):
            assert getattr(model, name) == getattr(default, name), name
        assert model.eval_percent == named.eval_percent
        assert model.residualize == named.residualize
        assert model.extra_residualizer_params == named.extra_residualizer_params


@pytest.mark.parametrize(
    ("space", "named"),
    [
        ("published", DiffGBM.published()),
        ("score_plus", DiffGBM.score_plus()),
        ("flow_vp", DiffGBM.flow()),
        ("flow_linear", DiffGBM.flow("linear")),
        ("flow_trig", DiffGBM.flow("trig")),
    ],
)
def test_frozen_rows_are_the_named_recipes_wherever_the_surface_is(space, named):
    for corner in CORNERS["score_flex_sde"]:
        model = at(space, corner)
        assert model.recipe == named.recipe
        assert model.residualize == named.residualize
        assert model.extra_residualizer_params == named.extra_residualizer_params


def test_samplers_are_the_papers():
    corner = CORNERS["score_flex_sde"][0]
    said = {space: str(at(space, corner).recipe.sampler) for space in SPACES}
    assert said == {
        "published": "euler SDE x50",
        "score_flex_sde": "euler SDE x50",
        "score_flex_ode": "heun ODE x25",
        "score_plus": "heun ODE x25",
        "flow_vp": "heun ODE x5",
        "flow_linear": "heun ODE x5",
        "flow_trig": "heun ODE x5",
    }


def test_subsample_draws_rows_anew():
    # LightGBM ignores bagging_fraction unless bagging_freq is positive
    assert at("published", CORNERS["score_flex_sde"][0]).subsample_freq == 1


@pytest.mark.parametrize(
    ("choices", "inside", "outside"),
    [
        (Integer(2, 5), (2, 5), (1, 6, 2.5, True)),
        (Real(0.5, 1.0), (0.5, 1, 0.7), (0.4, 1.1, True, "0.7")),
        (Choice(("a", 1)), ("a", 1), ("b", 2)),
    ],
)
def test_ranges_know_what_they_contain(choices, inside, outside):
    assert all(value in choices for value in inside)
    assert not any(value in choices for value in outside)
