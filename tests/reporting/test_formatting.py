"""Numbers and names as text."""

import numpy as np
import pytest

from diffgbm.reporting import formatting


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1234567.8, "1,234,568"), (0.123456, "0.1235"), (-2.5, "−2.5"), (1e-9, "1.000e−09"), (100.0, "100")],  # noqa: RUF001
)
def test_numbers(value, text):
    assert formatting.number(value) == text


def test_other_formats():
    assert {formatting.number(v) for v in (None, np.nan, np.inf)} == {formatting.NONE}
    assert formatting.percent(None) == formatting.NONE
    assert formatting.percent(0.876) == "87.6%"
    assert (formatting.size(12), formatting.size(12_345), formatting.size(1_234_567)) == ("12 bytes", "12 kB", "1.2 MB")
    assert formatting.shortened("abcdefgh", 7) == "abcd…gh"
    assert formatting.aligned(3.14159, 100.0) == "3.1"
