"""The argument ``members``."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from diffgbm.members.argument import read_members
from tests.members.stand_ins import LikeNGBoost, Line


def test_names_are_those_of_classes_or_given():
    found = read_members([Line(), Line(), ("mine", Line()), make_pipeline(StandardScaler(), LikeNGBoost())])
    assert [member.name for member in found] == ["Line", "Line 2", "mine", "LikeNGBoost"]
    assert [member.way for member in found] == ["regressor"] * 3 + ["pred_dist"]
    assert read_members(None) == read_members([]) == ()


class Plain:
    """An estimator that knows nothing of scikit-learn."""

    def fit(self, X, y):
        self.scale = float(np.std(y))

    def predict(self, X):
        return X[:, 0]


def test_a_class_without_scikit_learn_is_enough():
    (member,) = read_members([Plain()])
    assert (member.name, member.way) == ("Plain", "regressor")


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (Line(), "members must be a list of estimators.*Put a single"),
        ("catboost", "members must be a list"),
        ([Line], r"members\[0\] must be an estimator with fit"),
        ([Line(), np.sin], r"members\[1\] must be an estimator with fit"),
        ([("a", Line(), 3)], r"members\[0\] must be an estimator or a pair"),
        ([LogisticRegression()], r"members\[0\] must predict numbers; LogisticRegression is a classifier"),
        ([StandardScaler()], r"members\[0\] cannot be asked for a distribution: StandardScaler"),
    ],
)
def test_what_cannot_be_a_member_is_named(members, message):
    with pytest.raises(TypeError, match=message):
        read_members(members)


def test_names_differ():
    with pytest.raises(ValueError, match="'a' of another member"):
        read_members([("a", Line()), ("a", LinearRegression())])
