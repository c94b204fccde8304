"""Booster texts that cannot be followed: refused before LightGBM, which trusts them, sees them."""

import lightgbm as lgb
import numpy as np
import pytest

from diffgbm.engine.stored import StoredBooster, text_of


def booster_text(linear: bool) -> str:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=(300, 2)), rng.integers(0, 40, 300)])
    params = {"num_leaves": 6, "verbosity": -1, "linear_tree": linear, "min_data_per_group": 5, "cat_smooth": 1}
    data = lgb.Dataset(X, X[:, 0] + X[:, 2] % 2, categorical_feature=[2], params=params)
    return text_of(lgb.train({"objective": "regression", **params}, data, 3))


def with_line(text: str, name: str, change) -> str:
    """Change the first line of that name and put ``tree_sizes`` right again."""
    lines = text.split("\n")
    at = next(k for k, line in enumerate(lines) if line.startswith(f"{name}="))
    lines[at] = f"{name}={change(lines[at].partition('=')[2])}"
    return with_sizes("\n".join(lines))


def with_sizes(text: str) -> str:
    header, *trees = text.partition("\nend of trees")[0].split("\nTree=")
    sizes = " ".join(str(len(tree) + 6) for tree in trees)
    lines = [f"tree_sizes={sizes}" if line.startswith("tree_sizes=") else line for line in header.split("\n")]
    return "\n".join(lines) + "".join(f"\nTree={tree}" for tree in trees) + "\nend of trees\n"


def first(value):
    return lambda line: " ".join([value, *line.split(" ")[1:]])


def last(value):
    return lambda line: " ".join([*line.split(" ")[:-1], value])


BROKEN = {
    "child out of range": ("left_child", first("99")),
    "leaf out of range": ("right_child", last("-99")),
    "a cycle": ("left_child", first("0")),
    "two parents": ("right_child", last("-1")),
    "a child too few": ("left_child", lambda line: line.rpartition(" ")[0]),
    "a child too many": ("left_child", lambda line: line + " 1"),
    "feature out of range": ("split_feature", first("3")),
    "negative feature": ("split_feature", first("-1")),
    "unknown kind of split": ("decision_type", first("77")),
    "threshold not finite": ("threshold", last("nan")),
    "leaf not finite": ("leaf_value", first("inf")),
    "leaf no number": ("leaf_value", first("x")),
    "too many leaves": ("num_leaves", lambda line: "1000000000"),
    "no leaves": ("num_leaves", lambda line: "0"),
    "leaves no number": ("num_leaves", lambda line: "six"),
    "sets too few": ("num_cat", lambda line: "0"),
    "sets too many": ("num_cat", lambda line: "999"),
    "set out of range": ("cat_boundaries", last("1000")),
    "set backwards": ("cat_boundaries", first("5")),
    "two spaces between boundaries": ("cat_boundaries", lambda line: f"{line.split()[0]}  {line.split()[-1]}"),
    "two spaces between words": (
        "cat_threshold",
        lambda line: (line + " 0").replace(" ", "  ", 1),
    ),
    "two spaces between leaves": ("leaf_value", lambda line: line.replace(" ", "  ", 1).rpartition(" ")[0]),
    "a number that goes on": ("leaf_value", lambda line: line + "x"),
    "words no words": ("cat_threshold", first("99999999999")),
    "linear or not": ("is_linear", lambda line: "7"),
    "another feature count": ("max_feature_idx", lambda line: "9"),
    "several classes": ("num_class", lambda line: "2"),
    "several trees at once": ("num_tree_per_iteration", lambda line: "3"),
    "feature names": ("feature_names", lambda line: line + " more"),
    "a null byte": ("version", lambda line: "v4\0"),
    "a carriage return": ("leaf_value", lambda line: line.replace(" ", "\r", 1)),
}


@pytest.mark.parametrize("linear", [False, True], ids=["plain", "linear"])
@pytest.mark.parametrize("name", BROKEN)
def test_boosters_that_cannot_be_followed_are_refused(name, linear):
    text = booster_text(linear)
    StoredBooster.checked(with_sizes(text), 3)
    line, change = BROKEN[name]
    changed = with_line(text, line, change)
    with pytest.raises(ValueError):  # noqa: PT011  # each in its own words
        StoredBooster.checked(changed, 3)


@pytest.mark.parametrize("linear", [False, True], ids=["plain", "linear"])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("split_gain", first("E3")),
        ("internal_value", last("")),
        ("leaf_weight", first("nan")),
        ("leaf_count", first("1e")),
        ("shrinkage", lambda line: "=1"),
    ],
)
def test_notes_that_would_end_lightgbm_are_refused_before_it_reads_them(name, change, linear):
    stored = StoredBooster.checked(with_line(booster_text(linear), name, change), 3)
    with pytest.raises(ValueError, match=r"not finite numbers|not a number"):
        stored.predict(np.zeros((1, 3)))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("num_features", first("9")),
        ("num_features", first("-1")),
        ("leaf_features", lambda line: line + " 7"),
        ("leaf_coeff", lambda line: line + " 0.5"),
        ("leaf_const", first("nan")),
        ("leaf_const", first("x")),
    ],
)
def test_linear_leaves_that_cannot_be_followed_are_refused(name, change):
    with pytest.raises(ValueError):  # noqa: PT011
        StoredBooster.checked(with_line(booster_text(True), name, change), 3)


def test_linear_leaves_on_features_that_are_not_there_are_refused():
    text = booster_text(True)
    head, _, tail = text.partition("leaf_features=0")
    assert tail
    with pytest.raises(ValueError, match="linear leaves cannot be followed"):
        StoredBooster.checked(with_sizes(f"{head}leaf_features=8{tail}"), 3)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("tree_sizes=", "tree_sizes=9"),
        lambda text: text.replace("Tree=1", "Tree=7"),
        lambda text: text + "\nparameters:\n[boosting: gbdt]\nend of parameters\n",
        lambda text: text.replace("\nend of trees\n", ""),
        lambda text: text.replace("max_feature_idx=2", "max_feature_idx=2\nmax_feature_idx=900"),
        lambda text: with_sizes(text.replace("shrinkage=1\n", "shrinkage=1\nshrinkage=1\n", 1)),
        lambda text: with_sizes(text.replace("shrinkage=1\n", "shrinkage=1\nunknown=1\n", 1)),
        lambda text: with_sizes(text.replace("leaf_value=", "\nleaf_value=", 1)),
        lambda text: text.partition("\nTree=")[0],
        lambda text: "",
    ],
)
def test_texts_that_lightgbm_would_misread_are_refused(change):
    with pytest.raises(ValueError):  # noqa: PT011
        StoredBooster.checked(change(booster_text(False)), 3)


@pytest.mark.parametrize("name", ["cat_boundaries", "cat_threshold"])
def test_a_last_integer_of_many_digits_is_refused(name):
    start, _, end = booster_text(False).rpartition(f"\n{name}=")
    words, _, rest = end.partition("\n")
    text = with_sizes(f"{start}\n{name}={words.rpartition(' ')[0]} {'9' * 30}\n{rest}")
    with pytest.raises(ValueError, match="not a number"):
        StoredBooster.checked(text, 3)
