import pytest

from diffgbm.serving.limits import Limits
from diffgbm.serving.problems import RequestError


@pytest.mark.parametrize(
    ("check", "allowed", "refused", "words"),
    [
        ("check_body", (10,), (11,), "10 bytes.*--max-megabytes"),
        ("check_rows", (3,), (4,), "3 rows.*--max-rows"),
        ("check_numbers", (5, 4), (7, 3), "21 numbers; the limit is 20"),
    ],
)
def test_limits_are_inclusive_and_say_what_to_do(check, allowed, refused, words):
    limits = Limits(body=10, rows=3, numbers=20)
    getattr(limits, check)(*allowed)
    with pytest.raises(RequestError, match=words) as caught:
        getattr(limits, check)(*refused)
    assert caught.value.status == 413
