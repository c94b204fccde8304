"""LightGBM's network between workers: one for each process, open for the duration of a block."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np

TIME_OUT = 30
"""Minutes that a worker waits for another before LightGBM gives up; ``time_out`` in ``extra_lightgbm_params``."""
LEARNERS = ("data", "voting")
"""LightGBM's distributed learners for rows that are divided among the workers."""

_AT_WORK = threading.Lock()


@dataclass(frozen=True)
class Link:
    """One worker's end of the network.

    Attributes
    ----------
    machines : tuple of str
        ``host:port`` of all workers.
    port : int
        The port that this one listens on.
    time_out : int
        Minutes to wait for another.
    """

    machines: tuple[str, ...]
    port: int
    time_out: int = TIME_OUT


@contextmanager
def linked(link: Link | None) -> Iterator[dict[str, Any]]:
    """Join the network for a block; yield the parameters that make LightGBM use it. ``None`` is no network."""
    if link is None:
        yield {}
        return
    if not _AT_WORK.acquire(blocking=False):
        raise RuntimeError("another fit is training on this worker: LightGBM has one network for each process.")
    try:
        booster = _any_booster()
        booster.set_network(",".join(link.machines), link.port, link.time_out, len(link.machines))
        try:
            yield {"num_machines": len(link.machines), "tree_learner": "data"}
        finally:
            booster.free_network()
    finally:
        _AT_WORK.release()


def is_at_work() -> bool:
    """Whether this process is in LightGBM's network."""
    return _AT_WORK.locked()


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def _any_booster() -> lgb.Booster:
    """Return some booster: LightGBM lets a booster open the network that all in the process then use."""
    rows = np.arange(40.0)
    quiet = {"verbosity": -1, "num_threads": 1}
    return lgb.train(quiet, lgb.Dataset(rows[:, None], label=rows, params=quiet), 1)
