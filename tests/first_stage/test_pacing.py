"""The learning rate that suits the time that is left."""

from types import SimpleNamespace

import lightgbm as lgb
import numpy as np
import pytest

from diffgbm._util.deadline import NEVER, Deadline
from diffgbm.first_stage.pacing import ENOUGH, LARGEST_RATE, MEASURED_ROUNDS, Pace, paced_rate, pacing


@pytest.mark.parametrize(
    ("usual", "done", "rounds_left", "expected"),
    [
        (0.05, 0.0, 1e6, 0.05),  # enough time
        (0.05, 0.0, ENOUGH / 0.1, 0.1),  # half of the rounds that the usual rate needs
        (0.05, 0.0, 2.0, LARGEST_RATE),
        (0.05, 0.0, 0.0, LARGEST_RATE),  # the deadline has passed
        (0.05, 2.0 * ENOUGH, 2.0, 0.05),  # enough rounds so far
        (0.6, 0.0, 2.0, 0.6),  # a larger rate of the caller is kept
    ],
)
def test_the_rate_is_large_enough_for_the_rounds_that_are_left(usual, done, rounds_left, expected):
    assert paced_rate(usual, done, rounds_left) == pytest.approx(expected)


def trained(rounds, seconds, end):
    """Call a pace after each of some rounds that take ``seconds``; return the rates that LightGBM is given."""
    now, rates = [0.0], []
    pace = Pace(Deadline(end, lambda: now[0]), 0.05)
    model = SimpleNamespace(reset_parameter=lambda params: rates.append(params["learning_rate"]))
    for iteration in range(rounds):
        now[0] += seconds
        pace(SimpleNamespace(iteration=iteration, begin_iteration=0, model=model))
    return rates, pace


def test_few_affordable_rounds_add_up_to_enough():
    rates, pace = trained(50, 1.0, 50.0)
    assert rates
    assert rates[0] == pytest.approx((ENOUGH - 0.05 * MEASURED_ROUNDS) / (50 - MEASURED_ROUNDS))
    assert pace.done == pytest.approx(ENOUGH, rel=0.1)


def test_the_rate_of_a_booster_with_enough_time_is_left_alone():
    assert trained(300, 1.0, 2000.0)[0] == []
    assert pacing(NEVER, {"learning_rate": 0.1}) == []


def test_a_paced_booster_is_closer_to_its_goal():
    """Twenty rounds at a rate of 0.05 explain two thirds of a step; at a larger rate they explain nearly all of it."""
    x = np.linspace(-1.0, 1.0, 400)[:, None]
    y = np.sign(x[:, 0])
    params = {"learning_rate": 0.05, "verbosity": -1, "num_threads": 1, "deterministic": True, "force_col_wise": True}
    errors = []
    for end in (np.inf, 20.0):
        now = [0.0]

        def tick(env, now=now):
            now[0] += 1.0

        tick.order = 0
        callbacks = [tick, *pacing(Deadline(end, lambda now=now: now[0]), params)]
        booster = lgb.train(params, lgb.Dataset(x, y), 20, callbacks=callbacks)
        errors.append(np.mean((booster.predict(x) - y) ** 2))
    assert errors[0] > 0.1
    assert errors[1] < 0.01
