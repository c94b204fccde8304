"""``docs/reliability.md`` from the recorded lines: what was run, for how long, and with which result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reliability import statistical_page
from reliability.records import lines
from reliability.tables import table

PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"
Line = dict[str, Any]
KINDS = ("json", "booster", "array", "swap", "zip")

OPENING = """\
# Reliability

How the library behaves under stress: difficult tables, untrusted files, long runs, threads, killed processes, other
versions. A command recorded every figure on this page, and `python -m reliability page` wrote the page; a test compares
the two. `make harden` runs a quick form of all of it.
"""


def write() -> None:
    """Write the page."""
    PAGE.write_text(text())


def text() -> str:
    """Return the page."""
    parts = [
        OPENING,
        statistical_page.section(),
        _inputs(),
        _files(),
        _soak(),
        _threads(),
        _load(),
        _kills(),
        _exits(),
        _versions(),
        _supply(),
    ]
    return "\n".join(parts)


def _inputs() -> str:
    result = lines("inputs")
    if not result:
        return "## Tables\n\nNo figures are recorded yet for the tables that `tests/hardening` generates.\n"
    counts = [tuple(int(line.get(key, 0)) for key in ("inputs", "answered", "refused")) for line in result]
    rows = [(f"`{line['test']}`", *count) for line, count in zip(result, counts, strict=True)]
    rows.append(("all", *(sum(column) for column in zip(*counts, strict=True))))
    text = (
        "`tests/hardening` generates tables of every kind (`DIFFGBM_HARDEN=3 pytest tests/hardening`). Each is either\n"
        "answered, with finite numbers in the right shape and order, or refused by an error that names the argument.\n"
    )
    return f"## Tables\n\n{text}\n" + table(("test", "inputs", "answered", "refused"), rows)


def _files() -> str:
    rows = [
        (kind, line["minutes"], *(line[name] for name in ("inputs", "refused", "complained", "used", "findings")))
        for kind, name in (("model files", "fuzz-model"), ("boosters' text", "fuzz-forest"))
        for line in lines(name)
    ]
    kinds = [
        (str(line["minutes"]), *(line["kinds"][kind] for kind in KINDS))
        for line in lines("fuzz-model")
        if "kinds" in line
    ]
    notes = [line["note"] for name in ("fuzz-model", "fuzz-forest") for line in lines(name) if "note" in line]
    result = [(line["where"], line["what"], line["found_by"], f"`{line['test']}`") for line in lines("findings")]
    return f"""\
## Untrusted files

Coverage-guided fuzzing with atheris. Mutations respect the format, so that checksums and sizes are valid. The reader
either refuses an input with a `ModelFileError` (for a booster's text, a `ValueError`), or the input is used: a loaded
model must predict intervals, and LightGBM and our engine must agree. "Complained" counts a `ValueError` during use.

{table(("what", "minutes", "inputs", "refused", "complained", "used", "findings"), rows)}
{"".join(f"Note: {note}.{chr(10)}" for note in notes)}
Model files have one error of five kinds: values of the manifest, lines of a booster, arrays, entries or values of
another model, fields of the zip headers. Checksums are computed again. Inputs by kind:

{table(("minutes", "JSON values", "booster lines", "arrays", "swapped between models", "zip headers"), kinds)}
The table shows runs of the current code. Earlier findings, from fuzzing and from code review, are fixed, and each has a
test:

{table(("where", "what", "found by", "test"), result)}
The reader also refuses zip bombs, entries that overlap or have a wrong size, paths outside the archive, wrong
checksums, unknown versions and disguised pickles. Tests read files with large declared sizes in a process that is
limited to 1 GB beyond its imports and to one minute.
"""


def _soak() -> str:
    rows = [
        (
            name,
            slope["first"],
            slope["last"],
            slope["most"],
            f"{slope['slope_per_1000_rounds']:+.2f} ± {slope['error']:.2f}",
            "yes" if slope["flat"] else "no",
        )
        for line in lines("soak")
        for name, slope in ((f"{name} ({unit})", line[key]) for name, key, unit in RESOURCES)
    ]
    runs = [f"{line['rounds']:,} rounds in {line['minutes']} minutes" for line in lines("soak")]
    return f"""\
## Long runs

One process repeatedly fits, samples, saves, loads and compares: {", ".join(runs) or "not yet run"}. Slopes exclude a
warm-up of a quarter of the rounds and have standard errors:

{table(("quantity", "first", "last", "maximum", "slope per 1,000 rounds", "flat"), rows)}"""


RESOURCES = (("memory", "memory", "MB"), ("threads", "threads", "count"), ("open files", "files", "count"))


def _threads() -> str:
    runs = lines("threads")
    if not runs:
        return "## Threads\n\nNo figures are recorded yet (`python -m reliability threads`).\n"
    run = runs[-1]
    rows = [(call, count) for call, count in run["calls"].items()]
    return f"""\
## Threads

{run["workers"]} threads fit, calibrate, predict, sample, save, load and report at once, in {run["bursts"]:,} bursts
within {run["minutes"]} minutes. Every answer is compared, bit by bit, with that of the same call alone. After each
burst the process must be as it was: warning filters, threads of linear algebra, random states, working directory,
environment, umask, locale, signal handlers, numpy's options, number of threads. Findings: {run["findings"]}.

{table(("call", "times"), rows)}"""


def _load() -> str:
    runs = lines("load")
    if not runs:
        return "## A served model\n\nNo figures are recorded yet (`python -m reliability load`).\n"
    run = runs[-1]
    rows = [
        (kind, *(level[key] for key in ("clients", "requests", "per_second", "p50_ms", "p99_ms", "wrong")))
        for kind, figures in run["models"].items()
        for level in figures["levels"]
    ]
    memory = ", ".join(
        f"{kind} {figures['memory']['middle']} to {figures['memory']['last']} MB "
        f"({'flat' if figures['memory']['flat'] else 'not flat'})"
        for kind, figures in run["models"].items()
    )
    workers = next(iter(run["models"].values()))["workers"]
    return f"""\
## A served model

`python -m reliability load` starts `diffgbm serve` as a process with {workers} workers, and 1, 8 and 32 clients ask it
at the same time over loopback. Each request asks for mean, two intervals and a probability of one row; one in ten must
be refused. Every answer is compared with the text that the same request gets alone, and the server must stop with code
0. Findings: {run["findings"]}. Clients and server share {run["cores"]} cores with whatever else runs: at the start, the
load average of the machine was {run["load_average"]}.

{table(("model", "clients", "requests", "requests per second", "p50 (ms)", "p99 (ms)", "wrong answers"), rows)}
Memory of the server in the second half of the requests of 32 clients: {memory}.
"""


def _kills() -> str:
    rows = [
        (name, *(counts.get(key, 0) for key in ("operations", "kills", "finished_parts", "absent_parts")))
        for line in lines("kills")
        for name, counts in line["cases"].items()
    ]
    total = sum(line["kills"] for line in lines("kills"))
    spared = [name for name, _, kills, *_ in rows if not kills]
    return f"""\
## Killed processes

A process was killed {total:,} times by SIGKILL, at a random file operation or at a random size of its output. After
each kill, finished results were complete to the last bit and unfinished ones were absent. The next run continued and
gave the same results as a run without kills. A kill may leave a hidden file behind (`.` and 16 digits before the name).

{table(("case", "possible moments", "kills", "parts finished at a kill", "parts absent"), rows)}
{f"Not killed in the recorded run, which ended before: {', '.join(spared)}." if spared else ""}
"""


def _exits() -> str:
    runs = lines("exits")
    if not runs:
        return "## Errors on the command line\n\nNo figures are recorded yet (`python -m reliability exits`).\n"
    total = {
        case: [sum(run["cases"].get(case, {}).get(key, 0) for run in runs) for key in ("runs", "others")]
        for case in dict.fromkeys(case for run in runs for case in run["cases"])
    }
    rows = [(case, *counts) for case, counts in total.items()]
    cold = sum(run["runs"] for run in runs if not run.get("forked"))
    return f"""\
## Errors on the command line

A command that refuses its input must end with code 2 and one line, in every run. A thread of a library that outlives
the error can abort the process instead: 14 of 100 runs of the first case did so while pyarrow's streaming reader of
text was used. Runs are forks of a process that has imported the library, which end as any process does: with that
earlier reader 12 of 60 forks of the first case and 23 of 60 of the second abort. Recorded runs with the current reader
({sum(run["minutes"] for run in runs):.1f} minutes; {cold:,} of the runs are processes that were started anew):

{table(("case", "runs", "ended otherwise"), rows)}"""


def _versions() -> str:
    rows = []
    for line in lines("versions"):
        installed = line["versions"]
        libraries = (installed[name] for name in ("python", "numpy", "lightgbm", "scikit-learn", "numba", "scipy"))
        rows.append((line["name"], *libraries, line["part"], line["passed"], line["failed"]))
    return f"""\
## Versions

`nox` has a job for each: the newest versions on every Python, the oldest supported versions (`oldest`), and the oldest
NumPy, LightGBM, scikit-learn and Numba one at a time (`library`). "core" are the tests that use every dependency, "all"
is the whole suite. Recorded runs:

{table(("job", "Python", "NumPy", "LightGBM", "scikit-learn", "Numba", "SciPy", "part", "passed", "failed"), rows)}
Tests with the oldest versions set the lower bounds: LightGBM before 4.6 cannot reuse our data sets, and SciPy before
1.15, scoringrules before 0.9, narwhals before 2.0 and typer before 0.20 lack arguments that we use. Python 3.14 was not
available where these runs were recorded.
"""


def _supply() -> str:
    package = lines("package")[-1] if lines("package") else None
    audit = lines("audit")[-1] if lines("audit") else None
    text = "Not yet recorded.\n"
    if package:
        text = (
            f"The wheel ({package['wheel_kb']} kB, {package['files_in_wheel']} files) contains only the package and\n"
            f"`py.typed`; with the sdist ({package['sdist_kb']} kB) it has {package['twine']}\n"
            f"`twine check --strict`. A new environment has {package['installed']} packages after its installation,\n"
            f"pip included. Check of the README: {package['readme']}.\n"
        )
    if audit:
        text += f"\n`pip-audit` checked {audit['asked']} packages and got an answer for {audit['answered']}:\n" + (
            "the database was not reachable, so that the result is unknown.\n"
            if not audit["answered"]
            else f"{len(audit['vulnerable'])} of them have known vulnerabilities.\n"
        )
    return f"""\
## Distribution files

{text}
mypy checks the library, the benchmarks and the reliability tests in strict mode, except for classes and values of
libraries without types.

{_branches()}"""


def _branches() -> str:
    result = lines("coverage")
    if not result:
        return "No branch coverage of the tests is recorded yet (`nox -s coverage`).\n"
    run = result[-1]
    named = ", ".join(f"`{name}` ({count})" for name, count in run["left_out"].items())
    return f"""\
The tests, including those of a cluster, execute {run["statements_run"]:,} of {run["statements"]:,} statements and
{run["branches_taken"]:,} of {run["branches"]:,} branches: {run["percent"]}% (`nox -s coverage`). Kernels do not count,
because Numba compiles them; tests compare them with LightGBM and NumPy. {NOT_EXECUTED}
Most statements are not executed in {named}.
"""


NOT_EXECUTED = """\
Not executed are mostly the demo, which `make demo` runs, the loss of a worker, which `make test-cluster` tests, and
messages about missing libraries or systems."""
