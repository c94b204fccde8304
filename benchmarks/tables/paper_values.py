"""The paper's numbers, table by table, as they are printed there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

DATA_SETS = (
    "yacht",
    "diabetes",
    "energy",
    "concrete",
    "wine",
    "kin8nm",
    "power_plant",
    "naval",
    "california_housing",
    "protein",
    "ct_slices",
)
"""The eleven data sets in the paper's order, which is that of their size."""


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper, or one block of its columns.

    Attributes
    ----------
    label : str
        Its LaTeX label.
    columns : tuple of str
        Names of the columns.
    rows : tuple of (str, tuple of float)
        Name and numbers of each row.
    """

    label: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]

    def get(self, row: str, column: str) -> float | None:
        """Return a number, or ``None`` where the paper has none."""
        numbers = dict(self.rows).get(row)
        return numbers[self.columns.index(column)] if numbers is not None and column in self.columns else None

    def column(self, column: str, rows: Sequence[str] | None = None) -> tuple[float, ...]:
        """Return a column, at all rows or at those named (``KeyError`` if one is not there)."""
        index, by_row = self.columns.index(column), dict(self.rows)
        return tuple(by_row[row][index] for row in (by_row if rows is None else rows))


def _table(label: str, columns: Sequence[str], rows: Mapping[str, tuple[float, ...]]) -> PaperTable:
    if wrong := [name for name, numbers in rows.items() if len(numbers) != len(columns)]:
        raise ValueError(f"{label}: {', '.join(wrong)} must have {len(columns)} numbers.")
    return PaperTable(label, tuple(columns), tuple(rows.items()))


HEADLINE = _table(
    "tab:headline",
    ("crpss", "rel_crps", "ks_pass", "ce_50", "ce_90", "ce_95"),
    {
        "published": (0.699, 1.248, 0.27, 0.142, 0.047, 0.026),
        "score_flex_sde": (0.725, 1.106, 0.33, 0.112, 0.049, 0.037),
        "flow_vp": (0.707, 1.334, 0.45, 0.067, 0.029, 0.021),
        "qreg_lightgbm": (0.694, 1.826, 0.31, 0.085, 0.045, 0.043),
        "catboost": (0.666, 1.815, 0.25, 0.096, 0.080, 0.066),
        "ngboost": (0.626, 2.471, 0.15, 0.117, 0.111, 0.098),
        "deep_ensemble": (0.685, 1.556, 0.24, 0.108, 0.036, 0.019),
        "ibug": (0.679, 1.564, 0.33, 0.119, 0.052, 0.060),
        "card": (0.662, 1.746, 0.22, 0.085, 0.059, 0.044),
    },
)

TIMING = _table(
    "tab:timing",
    ("fit", "sample", "total"),
    {
        "published": (13.60, 182.71, 196.32),
        "score_flex_sde": (26.89, 296.09, 322.98),
        "flow_vp": (25.84, 35.46, 61.30),
        "qreg_lightgbm": (69.34, 0.30, 69.65),
        "catboost": (2.34, 0.01, 2.35),
        "ngboost": (7.83, 0.04, 7.87),
        "deep_ensemble": (46.26, 0.03, 46.29),
        "ibug": (0.98, 2.89, 3.87),
        "card": (23.19, 42.84, 66.03),
    },
)

_THREE = ("published", "score_flex_sde", "flow_vp")

PER_DATA_SET = _table(
    "tab:per-dataset",
    ("n_train", *_THREE),
    {
        "yacht": (256, 0.939, 0.945, 0.964),
        "diabetes": (368, 0.193, 0.241, 0.215),
        "energy": (640, 0.959, 0.965, 0.965),
        "concrete": (858, 0.712, 0.759, 0.772),
        "wine": (5414, 0.359, 0.395, 0.310),
        "kin8nm": (6826, 0.566, 0.627, 0.631),
        "power_plant": (7973, 0.833, 0.849, 0.845),
        "naval": (9945, 0.962, 0.970, 0.952),
        "california_housing": (17200, 0.682, 0.698, 0.676),
        "protein": (38108, 0.499, 0.539, 0.479),
        "ct_slices": (44583, 0.988, 0.989, 0.966),
    },
)

RANKS = _table(
    "tab:robustness-ranks",
    ("crps_rank", "crpss", "crpss_se", "rel_crps", "ce_95_rank"),
    {
        "score_flex_sde": (1.91, 0.725, 0.076, 1.106, 4.73),
        "flow_vp": (3.45, 0.707, 0.082, 1.334, 3.18),
        "published": (4.18, 0.699, 0.081, 1.248, 3.55),
        "qreg_lightgbm": (4.36, 0.694, 0.076, 1.826, 5.36),
        "deep_ensemble": (5.45, 0.685, 0.080, 1.556, 2.73),
        "ibug": (5.91, 0.679, 0.080, 1.564, 5.82),
        "catboost": (6.09, 0.666, 0.085, 1.815, 6.73),
        "card": (6.73, 0.662, 0.088, 1.746, 5.55),
        "ngboost": (6.91, 0.626, 0.089, 2.471, 7.36),
    },
)

FRIEDMAN_CHI2 = 32.1
"""Nine families, eleven data sets; p < 0.001."""
NEMENYI_CD = 3.62
"""Nine families, eleven data sets, at 0.05."""
WILCOXON = _table(
    "sec:headline", ("wins", "losses", "statistic", "p_value"), {"score_flex_sde": (11.0, 0.0, 0.0, 4.9e-4)}
)

COMPETITORS = _table(
    "tab:competitors",
    ("crpss", "rel_crps", "crps", "dss", "q_mace", "ce_95", "sample"),
    {
        "score_flex_sde": (0.725, 1.108, 3.687, -0.093, 0.045, 0.037, 508.0),
        "score_plus": (0.708, 1.372, 3.764, -0.166, 0.027, 0.018, 421.8),
        "flow_vp": (0.707, 1.335, 3.829, -0.178, 0.036, 0.021, 60.8),
        "published": (0.699, 1.249, 3.953, 1.056, 0.053, 0.026, 759.9),
        "qreg_lightgbm": (0.694, 1.827, 3.721, 0.193, 0.038, 0.043, 0.4),
        "deep_ensemble": (0.685, 1.557, 3.658, -0.049, 0.054, 0.019, 0.1),
        "ibug": (0.679, 1.566, 3.833, 1.68e7, 0.069, 0.060, 5.0),
        "catboost": (0.666, 1.816, 3.743, 0.367, 0.045, 0.066, 0.0),
        "card": (0.662, 1.747, 4.426, 0.435, 0.050, 0.044, 62.1),
        "ngboost": (0.626, 2.472, 4.048, 2.035, 0.051, 0.098, 2.8),
    },
)

EXTENDED_CRPS = _table(
    "tab:perdata-ext",
    _THREE,
    {
        "yacht": (0.447, 0.404, 0.269),
        "diabetes": (36.04, 33.98, 35.19),
        "energy": (0.236, 0.199, 0.202),
        "concrete": (2.71, 2.27, 2.15),
        "wine": (0.294, 0.278, 0.317),
        "kin8nm": (0.065, 0.056, 0.055),
        "power_plant": (1.63, 1.47, 1.52),
        "naval": (0.000163, 0.000129, 0.000209),
        "california_housing": (0.200, 0.190, 0.204),
        "protein": (1.70, 1.57, 1.77),
        "ct_slices": (0.159, 0.143, 0.433),
    },
)

EXTENDED_CE_90 = _table(
    "tab:perdata-ext",
    _THREE,
    {
        "yacht": (0.084, 0.055, 0.046),
        "diabetes": (0.094, 0.086, 0.071),
        "energy": (0.077, 0.030, 0.022),
        "concrete": (0.034, 0.021, 0.021),
        "wine": (0.033, 0.037, 0.018),
        "kin8nm": (0.012, 0.008, 0.021),
        "power_plant": (0.008, 0.090, 0.010),
        "naval": (0.087, 0.057, 0.060),
        "california_housing": (0.011, 0.038, 0.008),
        "protein": (0.003, 0.037, 0.005),
        "ct_slices": (0.075, 0.084, 0.036),
    },
)

EXTENDED_SAMPLE = _table(
    "tab:perdata-ext",
    _THREE,
    {
        "yacht": (0.6, 2.1, 0.1),
        "diabetes": (0.7, 0.2, 0.0),
        "energy": (7.3, 7.2, 0.1),
        "concrete": (1.7, 7.1, 0.1),
        "wine": (35.5, 151.5, 15.5),
        "kin8nm": (144.8, 34.7, 35.8),
        "power_plant": (155.1, 433.9, 5.2),
        "naval": (460.5, 533.7, 60.7),
        "california_housing": (185.9, 499.9, 29.2),
        "protein": (834.9, 1290.6, 208.0),
        "ct_slices": (6531.9, 2627.6, 314.0),
    },
)

EXTENDED_MARGIN: tuple[tuple[str, str, float], ...] = (
    ("yacht", "flow_vp", 50.0),
    ("diabetes", "score_flex_sde", 3.6),
    ("energy", "score_flex_sde", 1.5),
    ("concrete", "flow_vp", 5.5),
    ("wine", "score_flex_sde", 5.9),
    ("kin8nm", "flow_vp", 1.1),
    ("power_plant", "score_flex_sde", 3.2),
    ("naval", "score_flex_sde", 26.5),
    ("california_housing", "score_flex_sde", 5.2),
    ("protein", "score_flex_sde", 8.7),
    ("ct_slices", "score_flex_sde", 11.3),
)
"""Data set, winner of the three in raw CRPS, and by how many per cent the second is above it (tab:perdata-ext)."""

SIZES = _table(
    "tab:robustness-size",
    ("small", "medium", "large"),
    {
        "score_flex_sde": (0.728, 0.710, 0.742),
        "flow_vp": (0.729, 0.684, 0.707),
        "published": (0.701, 0.680, 0.723),
        "qreg_lightgbm": (0.711, 0.666, 0.707),
        "catboost": (0.724, 0.612, 0.659),
        "ngboost": (0.718, 0.550, 0.605),
        "deep_ensemble": (0.699, 0.672, 0.682),
        "ibug": (0.700, 0.637, 0.708),
        "card": (0.632, 0.667, 0.695),
    },
)
