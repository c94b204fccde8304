"""Two strengths of the same tests: a few fixed examples in an ordinary run, thousands of random ones in hard mode.

``DIFFGBM_HARDEN=1`` is the hard mode (``DIFFGBM_HARDEN=20`` twenty times as many examples);
``DIFFGBM_HARDEN_FIGURES=FILE`` appends one line of JSON for each test: the numbers of inputs, answers and
refusals.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

EXAMPLES = 25
HARD_EXAMPLES = 500
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]

settings.register_profile(
    "ordinary", max_examples=EXAMPLES, derandomize=True, database=None, deadline=None, suppress_health_check=QUIET
)
settings.register_profile(
    "harden",
    max_examples=int(HARD_EXAMPLES * float(os.environ.get("DIFFGBM_HARDEN") or 1)),
    database=None,
    deadline=None,
    suppress_health_check=QUIET,
    print_blob=True,
)


def profile():
    """The settings of this run."""
    return settings.get_profile("harden" if os.environ.get("DIFFGBM_HARDEN") else "ordinary")


@pytest.fixture
def tally(request):
    """Count answers and refusals; append them to the file of figures when the test ends."""
    counts: Counter[str] = Counter()
    yield counts
    assert counts.total() > 0
    if path := os.environ.get("DIFFGBM_HARDEN_FIGURES"):
        line = {"test": request.node.name, "file": Path(request.node.path).name, "inputs": counts.total(), **counts}
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
