"""Coverage-guided fuzzing by atheris: a child process that may die, and a parent that starts it again and counts.

``python -m reliability fuzz-model`` and ``fuzz-forest``. The child knows the structure of what it changes (see
``mutations``), so that its inputs get past checksums and sizes. An input that ends the child is saved in
``reliability/results/findings``; each distinct finding is counted once.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reliability import mutations
from reliability.records import RESULTS, record

ROOT = Path(__file__).parent.parent
MOST_MEMORY = 2048
"""Memory limit of the child in megabytes; Python, LightGBM and numba take 400."""
MOST_SECONDS = 60
"""Time limit of one input in seconds, generous because the machine may be busy."""
INSTRUMENTED = {
    "model": ["diffgbm.persistence.files", "diffgbm.persistence", "diffgbm.engine.check", "diffgbm.engine.forest"],
    "forest": ["diffgbm.engine.check", "diffgbm.engine.forest", "diffgbm.engine.stored"],
}


def run(kind: str, minutes: float, name: str | None = None) -> dict[str, Any]:
    """Fuzz for some minutes; return and record the figures."""
    findings: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for subfolder in ("corpus", "seeds"):
            write_seeds(kind, folder / subfolder)
        while (left := 60.0 * minutes - (time.monotonic() - started)) > 1.0:
            ended = _child(kind, folder, left)
            counts = folder / "counts.json"
            totals.update(json.loads(counts.read_text()) if counts.exists() else {})
            counts.unlink(missing_ok=True)
            if ended.returncode == 0:
                break
            output = ended.stdout + ended.stderr
            reason = reason_of(output)
            findings[reason] += 1
            print(f"finding: {reason}", flush=True)
            _keep(folder, f"{kind}-{len(findings)}-{findings[reason]}", output)
            if sum(findings.values()) >= 50:
                break
        corpus = len(list((folder / "corpus").iterdir()))
    figures = {
        "minutes": round((time.monotonic() - started) / 60.0, 1),
        "inputs": totals["inputs"],
        "refused": totals["refused"],
        "complained": totals["complained"],
        "used": totals["used"],
        "corpus": corpus,
        "findings": len(findings),
        "reasons": dict(findings),
        "kinds": {kind: totals[f"kind {kind}"] for kind in mutations.KINDS if totals[f"kind {kind}"]},
    }
    if name:
        record(name, figures)
    return figures


def _child(kind: str, folder: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    options = [
        f"-max_total_time={max(1, int(seconds))}",
        f"-rss_limit_mb={MOST_MEMORY}",
        f"-timeout={MOST_SECONDS}",
        "-max_len=200000",
        "-len_control=0",
        f"-artifact_prefix={folder}/artifact-",
        "-print_final_stats=1",
    ]
    command = [sys.executable, "-m", "reliability.fuzzing", kind, str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=ROOT, check=False)


def _keep(folder: Path, name: str, output: str) -> None:
    """Save the input that ended a child with its output, and change the seeds of the next child."""
    kept = RESULTS / "findings"
    kept.mkdir(parents=True, exist_ok=True)
    (kept / f"{name}.log").write_text(output[-6000:])
    for artifact in folder.glob("artifact-*"):
        artifact.rename(kept / f"{name}.input")


def reason_of(output: str) -> str:
    """Return the line that says why a child ended, without numbers, so that equal reasons have equal text."""
    for pattern in (
        r"(?m)^=== Uncaught Python exception: ===\n(.*)$",
        r"(?m)^.*(libFuzzer: .*)$",
        r"(?m)^==\d+== ?(ERROR: .*)$",
    ):
        if result := re.search(pattern, output):
            return re.sub(r"0x[0-9a-f]+|\d+", "#", result.group(1))[:160]
    return (output.strip().splitlines() or ["no output"])[-1][:160]


def write_seeds(kind: str, folder: Path) -> None:
    """Write the model files of the tests, or the boosters in them and others with every kind of split."""
    from diffgbm.persistence import archive

    folder.mkdir(parents=True)
    files = sorted((ROOT / "tests" / "fixtures").glob("*.dgbm"))
    if kind == "model":
        for file in files:
            (folder / file.name).write_bytes(mutations.archived(archive.unpack(file.read_bytes())))
        for name, model in seed_models().items():
            model.save(folder / name)
        return
    for k, text in enumerate(seed_texts()):
        (folder / f"{k}.txt").write_text(text)


def seed_models() -> dict[str, Any]:
    """Fit small models of what the files of the tests lack: atoms, bags, and a calibrated model of integers."""
    import numpy as np

    from diffgbm import AutoDiffGBM, ConformalDiffGBM, DiffGBM
    from diffgbm.auto.presets import PRESETS

    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 3))
    y = np.where(rng.random(200) < X[:, 0], 0.0, X[:, 1] + rng.exponential(size=200))
    small = {"n_repeats": 2, "n_estimators": 4, "num_leaves": 4, "early_stopping_rounds": None, "n_steps": 5}
    tiny: dict[str, Any] = {**small, "seed": 0, "n_jobs": 1, "extra_residualizer_params": {"n_estimators": 3}}
    one = replace(PRESETS["fast"], first_stage_models=("ridge",), final_models=1, bags=1, noisy_rows=200, rounds=())
    counts = ConformalDiffGBM(AutoDiffGBM(preset=one, n_jobs=1, seed=0), seed=0)
    return {
        "atoms.dgbm": DiffGBM.flow(**tiny, atoms=[0.0]).fit(X, y),
        "bags.dgbm": DiffGBM.flow(**tiny, n_bags=2, bag_mix="mixture").fit(X, y),
        "counts.dgbm": counts.fit(X, rng.poisson(3.0 * X[:, 0])),
    }


def seed_texts() -> list[str]:
    """Texts of small boosters of three columns: missing values, zeros, categories, linear leaves, random forests."""
    import lightgbm as lgb
    import numpy as np

    from diffgbm.engine.stored import text_of

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=(300, 2)), rng.integers(0, 40, 300)])
    X[rng.random(300) < 0.2, 1] = np.nan
    y = X[:, 0] + X[:, 2] % 2 + np.isnan(X[:, 1])
    forest = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
    variants: tuple[dict[str, Any], ...] = ({}, {"linear_tree": True}, {"zero_as_missing": True}, forest)
    texts = []
    for variant in variants:
        params = {
            "num_leaves": 5,
            "verbosity": -1,
            "min_data_per_group": 5,
            "cat_smooth": 1,
            "num_threads": 1,
            **variant,
        }
        data = lgb.Dataset(X, y, categorical_feature=[2], params=params)
        texts.append(text_of(lgb.train({"objective": "regression", **params}, data, 2)))
    return texts


def fuzz(kind: str, folder: Path, options: list[str]) -> None:
    """Run as the child: fuzz until time is up or an input fails."""
    import atheris

    # kernels are compiled by numba, which cannot read instrumented code
    with atheris.instrument_imports(include=INSTRUMENTED[kind], exclude=["diffgbm.persistence._forest_kernels"]):
        from reliability import targets

        if kind == "model":
            import diffgbm.estimators.loading  # noqa: F401
        from diffgbm.persistence.archive import unpack
    read: Callable[[bytes], str] = targets.read_model if kind == "model" else targets.read_text
    counts: Counter[str] = Counter()
    last, made = time.monotonic(), "seed"

    def one(content: bytes) -> None:
        nonlocal last
        counts["inputs"] += 1
        counts[f"kind {made}"] += 1
        counts[read(content)] += 1
        if time.monotonic() - last > 2.0:
            last = time.monotonic()
            (folder / "counts.json").write_text(json.dumps(counts))

    seeds = [path.read_bytes() for path in sorted((folder / "seeds").iterdir())]
    others = [unpack(content) for content in seeds] if kind == "model" else []

    def mutate(content: bytes, most: int, seed: int) -> bytes:
        # half of the inputs are one mutation from a valid file, because libFuzzer mostly keeps invalid ones
        nonlocal made
        rng = random.Random(seed)
        made = "bytes" if rng.random() < 0.02 else rng.choice(mutations.KINDS) if kind == "model" else "text"
        content = rng.choice(seeds) if rng.random() < 0.5 else content
        return mutated(made, content, others, most, rng, lambda part: atheris.Mutate(part, len(part) + 16))

    for content in seeds:  # compile kernels before inputs are timed
        read(content)
    atheris.Setup([sys.argv[0], *options, str(folder / "corpus")], one, custom_mutator=mutate)
    atheris.Fuzz()


def mutated(
    made: str,
    content: bytes,
    others: Sequence[Mapping[str, bytes]],
    most: int,
    rng: random.Random,
    mutate: mutations.Mutate,
) -> bytes:
    """Mutate an input by a kind of ``mutations.KINDS``, as a booster's "text", or as "bytes" of no format."""
    from diffgbm import ModelFileError
    from diffgbm.persistence import archive

    if made == "bytes":
        return bytes(mutate(content))[:most]
    if made == "text":
        return mutations.mutated_text(content.decode(errors="replace"), rng).encode()[:most]
    try:
        entries = archive.unpack(content)
    except ModelFileError:
        return mutations.signed(content)[:most]
    out = mutations.mutated_file(made, entries, others, rng, mutate)
    return out if len(out) <= most else content[:most]


if __name__ == "__main__":
    fuzz(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
