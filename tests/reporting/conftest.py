"""Models and reports that several test files use."""

import numpy as np
import pandas as pd
import pytest

import diffgbm
from tests.conftest import tiny
from tests.reporting.models import SCALES, Known


@pytest.fixture(scope="session")
def known():
    """A model whose predictive distribution is known, rows, and observations that follow it."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(0.0, 3.0, 3000), rng.uniform(size=3000), rng.normal(size=3000)])
    y = X[:, 0] + SCALES[(X[:, 1] > 0.5).astype(int)] * rng.standard_normal(3000)
    model = Known(**tiny().get_params()).fit(X[:90], y[:90])
    return model, X, y


@pytest.fixture(scope="session")
def known_facts(known):
    """The numbers of the report on the known model."""
    model, X, y = known
    return diffgbm.report(model, X, y, importance_rows=1000, n_repeats=3, rows_shown=30).facts


@pytest.fixture(scope="session")
def mixed():
    """A model of a frame with a category, missing values and names with markup; its rows, responses and report."""
    rng = np.random.default_rng(1)
    n = 160
    X = pd.DataFrame(
        {
            "<script>alert(1)</script>": rng.normal(size=n),
            "a & b": pd.Categorical(rng.choice(["</script><b>", "x", "é"], n)),
            "constant": np.ones(n),
        },
        index=[f"<i>{i}</i>" for i in range(n)],
    )
    X.iloc[::7, 0] = np.nan
    X.iloc[3, 1] = None
    y = pd.Series(
        np.nan_to_num(X.iloc[:, 0]) + rng.normal(size=n), name='<img src=x onerror="alert(2)">', index=X.index
    )
    model = tiny().fit(X, y)
    return model, X, y, diffgbm.report(model, X, y, n_repeats=2, rows_shown=20, title="</title><script>")
