"""Limits of one request: bytes, rows, and numbers of its answer."""

from __future__ import annotations

from dataclasses import dataclass

from diffgbm.serving.problems import RequestError


@dataclass(frozen=True)
class Limits:
    """What a server accepts in one request.

    Attributes
    ----------
    body : int
        Most bytes of a request.
    rows : int
        Most rows.
    numbers : int
        Most numbers of an answer, which samples of many rows would exceed.
    waiting : int
        Most requests that wait for a prediction; further ones get 503.
    seconds : float
        Longest time for sending a request.
    """

    body: int = 10_000_000
    rows: int = 10_000
    numbers: int = 1_000_000
    waiting: int = 256
    seconds: float = 30.0

    def check_body(self, size: int) -> None:
        """Refuse a request of too many bytes."""
        if size > self.body:
            raise RequestError(
                413,
                f"The body has more than {self.body:,} bytes. Send fewer rows in each request, or start the server "
                "with a larger --max-megabytes.",
            )

    def check_rows(self, rows: int) -> None:
        """Refuse a request of too many rows."""
        if rows > self.rows:
            raise RequestError(
                413,
                f"The request has more than {self.rows:,} rows. Send fewer rows in each request, or start the server "
                "with a larger --max-rows.",
            )

    def check_numbers(self, rows: int, numbers_per_row: int) -> None:
        """Refuse a request whose answer would hold too many numbers."""
        if rows * numbers_per_row > self.numbers:
            raise RequestError(
                413,
                f"The answer would hold {rows * numbers_per_row:,} numbers; the limit is {self.numbers:,}. Ask for "
                "fewer samples or quantiles, or send fewer rows in each request.",
            )
