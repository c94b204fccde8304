"""Schema of a study file, and checks across its entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from benchmarks.datasets import ROOT
from benchmarks.families import FAMILIES
from benchmarks.paper_studies.measures import MEASURES
from benchmarks.paper_studies.reader import StudyError, complaint, no_such, read_as, read_dataclass
from benchmarks.paper_studies.rules import RULES, Rule, Test
from benchmarks.protocol import EVALUATION_FOLDS
from benchmarks.selection import table_names
from diffgbm._util.optional import need

STUDIES = ROOT / "benchmarks" / "studies"
"""The study files."""

COMPUTED = ("toy_geometry", "histogram_bins", "endpoint_gain", "conditioning")
"""Kinds of studies that need no data: each is a module of ``benchmarks.paper_studies.computed``."""


@dataclass(frozen=True)
class Source:
    """Location of a study in the paper, and the paper's setting."""

    where: str
    label: str
    setting: str


@dataclass(frozen=True)
class Model:
    """One fit.

    Attributes
    ----------
    recipe : {"published", "score_plus", "flow"} or None
        Named recipe of ``DiffGBM`` that the parameters start from.
    family : str or None
        A family of the benchmark instead, built from ``params``.
    tuned : str or None
        Family whose tuned LightGBM parameters are used if the data set has them.
    params : mapping
        Arguments that override the study's ``base`` and the tuned ones.
    """

    recipe: Literal["published", "score_plus", "flow"] | None = None
    family: str | None = None
    tuned: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Arm:
    """One row of a table: a model, how it is sampled, and the paper's numbers by measure."""

    name: str
    label: str
    model: str = ""
    sampler: Mapping[str, Any] = field(default_factory=dict)
    series: str = ""
    paper: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Shown:
    """One column of a table; what is left out is the measure's own."""

    measure: str
    header: str | None = None
    digits: int | None = None
    best: Literal["max", "min", "none"] | None = None


@dataclass(frozen=True)
class Paired:
    """A paired comparison ``left - right`` that is printed, with the paper's ``difference``, ``statistic``, ..."""

    left: str
    right: str
    measure: str
    test: Test = "wilcoxon"
    paper: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """A claim of the paper and the rules that test it; all of them must hold."""

    claim: str
    paper: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Quick:
    """What ``--quick`` changes: fewer data sets, folds, rows and samples; ``params`` go on top of every model."""

    data_sets: tuple[str, ...] = ("diabetes",)
    folds: tuple[int, ...] = (1, 2)
    rows: int | None = 150
    n_samples: int = 50
    params: Mapping[str, Any] = field(
        default_factory=lambda: {
            "n_estimators": 30,
            "n_repeats": 4,
            "extra_residualizer_params": {"n_estimators": 30},
        }
    )
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """One table or figure of the paper.

    Attributes
    ----------
    name, title, paper : str, str, Source
        Name, title and source.
    setup, discussion : str
        Our setup, and how the results compare: Markdown.
    columns : tuple of Shown
        The table's columns.
    claims : tuple of Claim
        The tested claims.
    kind : str
        ``models``, or one of ``COMPUTED``.
    data_sets, folds, rows, n_samples
        Tables, test folds (or seeds), rows of a table at most and samples of a test row.
    base, fixed : mapping
        Parameters with lower and with higher precedence than those of a model.
    models : mapping of str to Model
        The fits; arms with the same fit share it.
    arms : tuple of Arm
        The rows.
    paired : tuple of Paired
        Printed comparisons.
    settings : mapping
        Arguments of a computed study.
    figure : {"sampler_cost", "toy_geometry", "histogram_bins", "endpoint_gain"} or None
        The picture.
    quick : Quick
        Of ``--quick``.
    """

    name: str
    title: str
    paper: Source
    setup: str
    columns: tuple[Shown, ...]
    arms: tuple[Arm, ...]
    claims: tuple[Claim, ...]
    discussion: str = ""
    kind: Literal["models", "toy_geometry", "histogram_bins", "endpoint_gain", "conditioning"] = "models"
    data_sets: tuple[str, ...] = ()
    folds: tuple[int, ...] = (1, 2, 3)
    rows: int | None = None
    n_samples: int = 200
    base: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, Model] = field(default_factory=dict)
    paired: tuple[Paired, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    figure: Literal["sampler_cost", "toy_geometry", "histogram_bins", "endpoint_gain"] | None = None
    quick: Quick = field(default_factory=Quick)

    @cached_property
    def arm_names(self) -> tuple[str, ...]:
        """Names of the arms in order."""
        return tuple(arm.name for arm in self.arms)

    def quickly(self) -> Study:
        """Return the study that ``--quick`` runs."""
        small = self.quick
        return replace(
            self,
            data_sets=small.data_sets if self.kind == "models" else self.data_sets,
            folds=small.folds if self.kind == "models" else self.folds[:1],
            rows=small.rows,
            n_samples=small.n_samples,
            fixed={**self.fixed, **small.params},
            settings={**self.settings, **small.settings},
        )


def read_study(path: Path) -> Study:
    """Read and check a study file."""
    yaml = need("yaml")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise complaint(path.name, f"is not YAML: {' '.join(str(error).split())}.") from error
    return study_of(content, path.name, path.stem)


def study_of(content: Any, where: str, name: str) -> Study:
    """Read a study from what a file says; ``name`` is the file's."""
    if not isinstance(content, dict):
        raise complaint(where, "expected a mapping.")
    claims = content.get("claims")
    if not isinstance(claims, list):
        raise complaint(where, "the key 'claims' is missing." if claims is None else "claims: expected a list.")
    content = {**content, "claims": []}
    study = replace(
        read_dataclass(Study, content, where),
        claims=tuple(_claim(claim, f"{where}.claims[{i}]") for i, claim in enumerate(claims)),
    )
    if study.name != name:
        raise complaint(where, f"the study is named {study.name!r}, its file {name!r}.")
    _check(study, where)
    return study


def _claim(value: Any, where: str) -> Claim:
    rules = value.get("rules") if isinstance(value, dict) else None
    if not isinstance(rules, list) or not rules:
        raise complaint(where, "expected the keys claim, paper and rules, a list of at least one rule.")
    plain = read_dataclass(_PlainClaim, value, where)
    return Claim(plain.claim, plain.paper, tuple(_rule(r, f"{where}.rules[{i}]") for i, r in enumerate(rules)))


@dataclass(frozen=True)
class _PlainClaim:
    claim: str
    paper: str
    rules: tuple[Mapping[str, Any], ...]


def _rule(value: Any, where: str) -> Rule:
    kind = value.get("rule") if isinstance(value, dict) else None
    if kind not in RULES:
        raise no_such(where, "the rule", kind, RULES)
    return read_dataclass(RULES[kind], value, where)


def _check(study: Study, where: str) -> None:
    """Check that all names that are used are declared."""
    measures = computed_measures(study) if study.kind != "models" else tuple(MEASURES)
    arms, models = study.arm_names, study.models

    def among(place: str, what: str, name: str, accepted: Any) -> None:
        if name not in accepted:
            raise no_such(f"{where}.{place}", what, name, accepted)

    if len(set(arms)) != len(arms):
        raise complaint(f"{where}.arms", "two arms have one name.")
    for i, arm in enumerate(study.arms):
        if study.kind == "models":
            among(f"arms[{i}].model", "the model", arm.model, models)
        for measure in arm.paper:
            among(f"arms[{i}].paper", "the measure", measure, measures)
    for name, model in models.items():
        if (model.recipe is None) == (model.family is None):
            raise complaint(f"{where}.models.{name}", "give either recipe or family.")
        for family in (model.family, model.tuned):
            if family is not None:
                among(f"models.{name}", "the family", family, FAMILIES)
    for i, shown in enumerate(study.columns):
        among(f"columns[{i}]", "the measure", shown.measure, measures)
    for place, used in [(f"paired[{i}]", p) for i, p in enumerate(study.paired)]:
        among(place, "the arm", used.left, arms)
        among(place, "the arm", used.right, arms)
        among(place, "the measure", used.measure, measures)
    for i, claim in enumerate(study.claims):
        for j, rule in enumerate(claim.rules):
            for arm_name in rule.uses()[0]:
                among(f"claims[{i}].rules[{j}]", "the arm", arm_name, arms)
            for measure in rule.uses()[1]:
                among(f"claims[{i}].rules[{j}]", "the measure", measure, measures)
    _check_data(study, where, among)


def _check_data(study: Study, where: str, among: Any) -> None:
    if study.kind != "models":
        return
    if not study.data_sets:
        raise complaint(where, "data_sets: name at least one.")
    for place, names in (("data_sets", study.data_sets), ("quick.data_sets", study.quick.data_sets)):
        for name in names:
            among(place, "the data set", name, table_names())
    for place, folds in (("folds", study.folds), ("quick.folds", study.quick.folds)):
        for fold in folds:
            if fold not in EVALUATION_FOLDS:
                raise complaint(f"{where}.{place}", f"folds are 1 to 5 (0 is for tuning); got {fold}.")


def computed_measures(study: Study) -> tuple[str, ...]:
    """Return the measures of a computed study."""
    from benchmarks.paper_studies.computed import module_of

    return tuple(module_of(study.kind).MEASURES)


def study_names(directory: Path = STUDIES) -> list[str]:
    """Return the names of all study files, in the order of the paper where they are known there."""
    result = {path.stem for path in directory.glob("*.yaml")}
    return [*(name for name in ORDER if name in result), *sorted(result - set(ORDER))]


def load_studies(names: list[str] | None = None, directory: Path = STUDIES) -> list[Study]:
    """Read the named studies, or all."""
    there = study_names(directory)
    for name in names or ():
        if name not in there:
            raise no_such("study", "the study", name, [*there, "all"])
    return [read_study(directory / f"{name}.yaml") for name in (there if names is None else names)]


ORDER = (
    "mechanism_ablation",
    "sampler_cost",
    "off_vs_mean",
    "residualizer_variants",
    "mean_scale",
    "t_sampling",
    "min_snr",
    "stochasticity",
    "flow_path",
    "tail_calibration",
    "ct_slices_tuned",
    "ct_slices_solver",
    "toy_geometry",
    "histogram_bins",
    "endpoint_gain",
    "conditioning",
)
"""The studies as they are listed in tables."""

__all__ = ["Arm", "Claim", "Model", "Paired", "Quick", "Shown", "Source", "Study", "StudyError", "read_as"]
