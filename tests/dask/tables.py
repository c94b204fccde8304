"""Tables in partitions, and arguments of small models, that the tests of this room share."""

from dataclasses import dataclass

import dask.array as da

from tests.conftest import TINY

SMALL = {**TINY, "extra_residualizer_params": {"n_estimators": 10}}


def cut(X, y, sizes):
    """Cut a table into partitions of these sizes."""
    return da.from_array(X, chunks=(tuple(sizes), X.shape[1])), da.from_array(y, chunks=(tuple(sizes), *y.shape[1:]))


@dataclass
class InlineGroup:
    """A worker group of one worker that does everything at once, in this process; a future is its result."""

    n_parts: int
    workers = ("here",)

    def per_part(self, function, *columns, **common):
        return [function(*row, **common) for row in zip(*columns, strict=True)]

    def per_worker(self, function, *columns, time_out, **common):
        return [function(*map(list, columns), link=None, threads=1, is_first=True, **common)]

    def split(self, futures, pick):
        return [pick(futures[0], i) for i in range(self.n_parts)]

    def at(self, address, function, *arguments):
        return function(*arguments)

    def results(self, futures):
        return list(futures)

    def wait(self, futures):
        pass

    def regrouped(self, rows):
        return InlineGroup(len(rows))
