r"""From measured rates to a plan: processor time, memory and traffic of a table of any size.

.. math:: T = \frac{n (R B c_n + (K - 1) M c_m)}{C} + (B + K M) (L - 1) \frac{16 F b}{v}

with ``n`` rows, ``R`` noisy copies, ``B`` rounds of the noise model, ``K`` folds of ``M`` rounds of the mean, ``C``
cores, and rates ``c``, in processor seconds, of one row in one round. Each of the ``L - 1`` splits of a tree is decided
by a histogram of ``F`` columns with ``b`` bins of 16 bytes, which every worker sends and receives about once at ``v``
bytes a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]

BILLION = 1_000_000_000
CORES, MEMORY = 16, 64e9
"""Cores and bytes of memory of a worker of the plan; half of the memory holds rows."""
BANDWIDTH = 1.25e9
"""Bytes a second between workers: 10 Gbit/s."""
LEAVES, BINS = 31, 255
PLAN_ROUNDS, PLAN_COPIES = 1000, 1
SIZES = (4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Rates:
    """Processor seconds: of a row in a round of the noise model and of the mean, of an interval, of the samples."""

    noise: float
    mean: float
    interval: float
    sample: float


def rates(record: Record) -> Rates:
    """Read the rates off a measurement. Reading rows and starting tasks are counted with the noise model's rounds."""
    n, without = record["rows"], record["fit_without_mean"]["processor_seconds"]
    # each row trains the models of all folds but one
    rounds = record["mean_rounds"] * (record["folds"] - 1)
    mean = max(0.0, record["fit"]["processor_seconds"] - without)
    return Rates(
        without / (n * record["rounds"]),
        mean / (n * rounds),
        record["interval"]["processor_seconds"] / n,
        record["sample"]["processor_seconds"] / n,
    )


def fit_seconds(rate: Rates, record: Record, rows: float, workers: int) -> tuple[float, float]:
    """Seconds of computing and of exchanging histograms of a fit by the plan's workers."""
    folds, mean_rounds = record["folds"], record["mean_rounds"]
    work = rows * (PLAN_COPIES * PLAN_ROUNDS * rate.noise + (folds - 1) * mean_rounds * rate.mean)
    columns = record["columns"] + 2
    traffic = 16.0 * columns * BINS * (LEAVES - 1) * (PLAN_ROUNDS + folds * mean_rounds)
    return work / (workers * CORES), traffic / BANDWIDTH if workers > 1 else 0.0


def bytes_of_row(record: Record) -> float:
    """Bytes of a row on a worker that trains: the numbers themselves, and of each noisy copy what LightGBM keeps.

    A copy is a byte for each column, a label of 4, a score of 8 and two gradients of 4 each; its time and its noise, of
    8 each, are kept until it is binned.
    """
    columns = record["columns"] + 2
    return 8.0 * record["columns"] + PLAN_COPIES * (columns + 4 + 8 + 8 + 16)


def plan(records: Sequence[Record]) -> str:
    """Write the measurements, and what follows from those of the most workers, as Markdown."""
    last = records[-1]
    rate, need = rates(last), BILLION * bytes_of_row(last)
    least = -(-need // (MEMORY / 2))
    lines = [
        "# A cluster, measured and planned",
        "",
        f"`python -m benchmarks cluster`: {last['rows']:,} rows of {last['columns']} numbers, flow recipe, one noisy "
        f"copy, {last['rounds']} rounds of the noise model, a mean of {last['folds']} folds x {last['mean_rounds']} "
        "rounds; workers are processes of one thread on a machine of two cores that runs other jobs as well. Rows per "
        "processor second of the workers, and per second in brackets.",
        "",
        f"| workers | fit, no mean | fit | 90% intervals | {last['samples']} samples |",
        "|---" * 5 + "|",
    ]
    for record in records:
        cells = [_rate(record, name) for name in ("fit_without_mean", "fit", "interval", "sample")]
        lines.append(f"| {record['workers']} | " + " | ".join(cells) + " |")
    lines += [
        "",
        f"From the last line: a row takes {1e9 * rate.noise:,.0f} ns of one core in a round of the noise model and "
        f"{1e9 * rate.mean:,.0f} ns in a round of the mean, an interval {1e6 * rate.interval:,.0f} µs, "
        f"{last['samples']} samples {1e6 * rate.sample:,.0f} µs.",
        "",
        f"A billion rows of {last['columns']} numbers, {PLAN_COPIES} noisy copy, {PLAN_ROUNDS:,} rounds, the same "
        f"mean; workers of {CORES} cores and {MEMORY / 1e9:.0f} GB, of which half are for rows; "
        f"{BANDWIDTH * 8 / 1e9:.0f} Gbit/s between them. A row takes {bytes_of_row(last):,.0f} bytes while it trains, "
        f"all of them {need / 1e9:,.0f} GB: at least {least:.0f} workers.",
        "",
        "| workers | cores | fit, hours | of which exchange, seconds | intervals, hours | "
        f"{last['samples']} samples, hours |",
        "|---" * 6 + "|",
    ]
    for workers in (size for size in SIZES if size >= least):
        work, exchange = fit_seconds(rate, last, BILLION, workers)
        asked = [BILLION * r / (workers * CORES) / 3600 for r in (rate.interval, rate.sample)]
        cells = [f"{(work + exchange) / 3600:.2f}", f"{exchange:.0f}", *(f"{hours:.2f}" for hours in asked)]
        lines.append(f"| {workers} | {workers * CORES} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def _rate(record: Record, name: str) -> str:
    result = record[name]
    return f"{record['rows'] / result['processor_seconds']:,.0f} ({record['rows'] / result['seconds']:,.0f})"
