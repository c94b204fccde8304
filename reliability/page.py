"""``docs/reliability.md`` from the recorded lines: the page says what was run, for how long, and what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reliability.records import lines

PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"
Line = dict[str, Any]

OPENING = """\
# Reliability

What happens when things go wrong: files from strangers, long runs, killed processes, other versions. Every figure on
this page was recorded by a command and put here by `python -m reliability page`; a test compares the two.
`make harden` runs the quick form of all of it.
"""


def write() -> None:
    """Write the page."""
    PAGE.write_text(text())


def text() -> str:
    """Return the page."""
    parts = [OPENING, _inputs(), _files(), _soak(), _kills(), _versions(), _supply()]
    return "\n".join(parts)


def table(head: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> str:
    """Return a table in Markdown; numbers with commas."""
    shown = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    body = [head, tuple("---" for _ in head), *shown]
    return "".join(f"| {' | '.join(row)} |\n" for row in body)


def _inputs() -> str:
    found = lines("inputs")
    if not found:
        return "## Tables\n\nNo figures are recorded yet of the tables that `tests/hardening` makes up.\n"
    counts = [tuple(int(line.get(key, 0)) for key in ("inputs", "answered", "refused")) for line in found]
    rows = [(f"`{line['test']}`", *count) for line, count in zip(found, counts, strict=True)]
    rows.append(("all", *(sum(column) for column in zip(*counts, strict=True))))
    said = (
        "Tables of every kind that `tests/hardening` makes up (`DIFFGBM_HARDEN=3 pytest tests/hardening`): each is\n"
        "answered, with finite numbers in the right shape and order, or refused by an error that names the argument.\n"
    )
    return f"## Tables\n\n{said}\n" + table(("test", "inputs", "answered", "refused in words"), rows)


def _files() -> str:
    rows = [
        (kind, line["minutes"], *(line[name] for name in ("inputs", "refused", "complained", "used", "findings")))
        for kind, name in (("model files", "fuzz-model"), ("boosters' text", "fuzz-forest"))
        for line in lines(name)
    ]
    notes = [line["note"] for name in ("fuzz-model", "fuzz-forest") for line in lines(name) if "note" in line]
    found = [(line["where"], line["what"], line["found_by"], f"`{line['test']}`") for line in lines("findings")]
    return f"""\
## Files from strangers

Coverage-guided fuzzing by atheris, with mutations that know the format, so that checksums and sizes are right. An
input is refused by a `ModelFileError` (or, a booster's text, a `ValueError`), or it is used: a loaded model must give
intervals, LightGBM and the collapsed trees the same predictions. "Complained" is a `ValueError` in use.

{table(("what", "minutes", "inputs", "refused", "complained", "used", "findings"), rows)}
{"".join(f"Note: {note}.{chr(10)}" for note in notes)}
The table shows the runs of the code as it is. What was found before, by fuzzing and by reading what fuzzing led to, is
mended, and each finding has a test:

{table(("where", "what", "found by", "test"), found)}
Zip bombs, entries that overlap or lie about their size, paths that lead elsewhere, wrong checksums, versions of the
future and pickles in disguise are refused too. Those that claim much are read by a process that may take 1 GB more than
its imports, and a minute.
"""


def _soak() -> str:
    rows = [
        (
            name,
            own["first"],
            own["last"],
            own["most"],
            f"{own['slope_per_1000_rounds']:+.2f} ± {own['error']:.2f}",
            "yes" if own["flat"] else "no",
        )
        for line in lines("soak")
        for name, own in ((f"{name} ({unit})", line[key]) for name, key, unit in HELD)
    ]
    said = [f"{line['rounds']:,} rounds in {line['minutes']} minutes" for line in lines("soak")]
    return f"""\
## Long runs

One process fits, samples, saves, loads and compares, again and again: {", ".join(said) or "not yet run"}. Slopes after
a warm-up of a quarter of the rounds, with their standard errors:

{table(("quantity", "first", "last", "most", "slope for 1,000 rounds", "flat"), rows)}"""


HELD = (("memory", "memory", "MB"), ("threads", "threads", "count"), ("open files", "files", "count"))


def _kills() -> str:
    rows = [
        (name, *(own.get(key, 0) for key in ("operations", "kills", "finished_parts", "absent_parts")))
        for line in lines("kills")
        for name, own in line["cases"].items()
    ]
    total = sum(line["kills"] for line in lines("kills"))
    spared = [name for name, _, kills, *_ in rows if not kills]
    return f"""\
## Killed processes

{total:,} times a process was ended by SIGKILL at a random file operation, or at a random size of what it had written.
After each, what was finished was there, to the last bit, and what was not was absent; the next run went on, and left
what a run leaves that nobody killed. A kill may leave a hidden file (`.` and 16 digits before the name) behind.

{table(("what", "moments to choose from", "kills", "parts finished at a kill", "parts absent"), rows)}
{f"Not killed in the recorded run, which ended before: {', '.join(spared)}." if spared else ""}
"""


def _versions() -> str:
    rows = []
    for line in lines("versions"):
        own = line["versions"]
        libraries = (own[name] for name in ("python", "numpy", "lightgbm", "scikit-learn", "numba", "scipy"))
        rows.append((line["name"], *libraries, line["part"], line["passed"], line["failed"]))
    return f"""\
## Versions

`nox` has a job for each: the newest of everything on every Python, the oldest of everything (`oldest`), and NumPy,
LightGBM, scikit-learn and Numba each at its oldest (`library`). "core" are the tests that touch every dependency, "all"
is the whole suite. Recorded so far:

{table(("job", "Python", "NumPy", "LightGBM", "scikit-learn", "Numba", "SciPy", "part", "passed", "failed"), rows)}
Trying the oldest versions moved the bounds: LightGBM before 4.6 cannot take up our data sets again, SciPy before 1.15
and scoringrules before 0.9 lack arguments that are used, and so do narwhals before 2.0 and typer before 0.20. Python
3.14 was not to be had where this was recorded.
"""


def _supply() -> str:
    package = lines("package")[-1] if lines("package") else None
    audit = lines("audit")[-1] if lines("audit") else None
    said = "Not yet recorded.\n"
    if package:
        said = (
            f"The wheel ({package['wheel_kb']} kB, {package['files_in_wheel']} files) holds the package, `py.typed`\n"
            f"and nothing else; with the sdist ({package['sdist_kb']} kB) it has {package['twine']}\n"
            f"`twine check --strict`. In an empty environment there are {package['installed']} packages after it,\n"
            f"pip included, and of the README {package['readme']}.\n"
        )
    if audit:
        said += f"\n`pip-audit` asked about {audit['asked']} packages and had an answer for {audit['answered']}:\n" + (
            "the database could not be reached from where this was recorded, so that nothing is known.\n"
            if not audit["answered"]
            else f"{len(audit['vulnerable'])} of them have known vulnerabilities.\n"
        )
    return f"""\
## What is shipped

{said}
All of the library is checked by mypy in its strict mode, but for classes and values of libraries without types.

{_branches()}"""


def _branches() -> str:
    found = lines("coverage")
    if not found:
        return "No figure of the branches that the tests go through is recorded yet (`nox -s coverage`).\n"
    own = found[-1]
    named = ", ".join(f"`{name}` ({count})" for name, count in own["left_out"].items())
    return f"""\
The tests, those of a cluster included, run {own["statements_run"]:,} of {own["statements"]:,} statements and take
{own["branches_taken"]:,} of {own["branches"]:,} branches: {own["percent"]}% (`nox -s coverage`). Kernels are not
counted, because Numba compiles them and coverage cannot see into them; they are compared with LightGBM and NumPy
instead. {LEFT}
Most is left out of {named}.
"""


LEFT = """\
Left out are mostly the demo, which `make demo` runs, the loss of a worker, whose tests `make test-cluster` runs and
this count does not, and messages for libraries or systems that are not there."""
