from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from iac_lib.intents.evaluation import (
    accuracy,
    cohen_kappa,
    confidence_interval,
    count_confusion,
    evaluate_levels,
    macro_f1,
    merge_probabilities,
    score_classes,
)
from iac_lib.intents.taxonomy import group_codes

SCORES = [accuracy, macro_f1, cohen_kappa]
K = 7


@pytest.fixture(params=range(3))
def codes(request) -> tuple[np.ndarray, np.ndarray]:
    """Truth and predictions that agree in about six of ten rows; class 6 is never true."""
    rng = np.random.default_rng(request.param)
    truth = rng.integers(K - 1, size=200)
    return truth, np.where(rng.random(200) < 0.6, truth, rng.integers(K, size=200))


def test_scores_are_those_of_scikit_learn(codes):
    confusion = count_confusion(*codes, K)
    np.testing.assert_array_equal(confusion, metrics.confusion_matrix(*codes, labels=range(K)))
    assert accuracy(confusion) == pytest.approx(metrics.accuracy_score(*codes))
    assert macro_f1(confusion) == pytest.approx(metrics.f1_score(*codes, average="macro"))
    assert cohen_kappa(confusion) == pytest.approx(metrics.cohen_kappa_score(*codes))


def test_table_by_class_is_that_of_scikit_learn(codes):
    table = score_classes(count_confusion(*codes, K), [f"intent {k}" for k in range(K)])
    expected = metrics.precision_recall_fscore_support(
        *codes, labels=range(K), zero_division=np.nan
    )
    for column, values in zip(["precision", "recall", "f1", "true"], expected, strict=True):
        np.testing.assert_allclose(table[column], values, err_msg=column)


def test_classes_that_occur_nowhere_do_not_lower_macro_f1():
    truth, predicted = np.array([0, 0, 2]), np.array([0, 0, 2])
    assert macro_f1(count_confusion(truth, predicted, 30)) == 1


@pytest.mark.parametrize("score", SCORES)
def test_interval_is_that_of_drawing_rows(codes, score):
    """The multinomial shortcut against resampling rows one set after the other."""
    low, high = confidence_interval(count_confusion(*codes, K), score, resamples=4000)
    rng = np.random.default_rng(9)
    truth, predicted = codes
    slow = []
    for _ in range(4000):
        rows = rng.integers(len(truth), size=len(truth))
        slow.append(score(count_confusion(truth[rows], predicted[rows], K)))
    np.testing.assert_allclose((low, high), np.quantile(slow, [0.025, 0.975]), atol=0.012)


@pytest.mark.parametrize("score", SCORES)
def test_a_stack_is_scored_matrix_by_matrix(score):
    stack = np.random.default_rng(0).integers(1, 9, size=(4, K, K))
    assert score(stack).tolist() == [float(score(matrix)) for matrix in stack]


def test_intervals_repeat_and_shrink(codes):
    confusion = count_confusion(*codes, K)
    low, high = confidence_interval(confusion, accuracy, seed=1)
    assert (low, high) == confidence_interval(confusion, accuracy, seed=1)
    assert low < accuracy(confusion) < high
    narrow = confidence_interval(100 * confusion, accuracy)
    assert narrow[1] - narrow[0] < (high - low) / 5


def test_kappa_of_one_class_alone_is_undefined():
    assert np.isnan(cohen_kappa(np.array([[5, 0], [0, 0]])))
    assert cohen_kappa(np.array([[5, 0], [0, 5]])) == 1
    assert cohen_kappa(np.array([[5, 5], [5, 5]])) == 0


@pytest.mark.parametrize(
    ("truth", "predicted", "problem"),
    [
        ([0, 1], [0], "2 true codes, 1 predicted"),
        ([0, -1], [0, 1], "true code -1 in row 1 is not one of 3"),
        ([0, 1], [0, 3], "predicted code 3 in row 1 is not one of 3"),
    ],
)
def test_codes_that_do_not_fit_are_refused(truth, predicted, problem):
    with pytest.raises(ValueError, match=problem):
        count_confusion(np.array(truth), np.array(predicted), 3)


def test_merging_sums_members_before_choosing():
    probabilities = np.array([[0.4, 0.3, 0.3]])
    merged = merge_probabilities(probabilities, np.array([0, 1, 1]))
    np.testing.assert_allclose(merged, [[0.4, 0.6]])


def test_levels_score_merged_predictions():
    rng = np.random.default_rng(0)
    truth = rng.integers(30, size=400)
    probabilities = rng.dirichlet(np.ones(30), size=400) + 0.15 * np.eye(30)[truth]
    table = evaluate_levels(truth, probabilities, resamples=200).set_index(["classes", "merged_by"])
    for classes in (30, 20, 10):
        groups = group_codes(classes)
        by_class = groups[probabilities.argmax(axis=1)]
        row = table.loc[(classes, "class")]
        assert row["accuracy"] == pytest.approx(metrics.accuracy_score(groups[truth], by_class))
        assert row["macro_f1"] == pytest.approx(
            metrics.f1_score(groups[truth], by_class, average="macro")
        )
        assert row["accuracy_low"] < row["accuracy"] < row["accuracy_high"]
        sums = np.stack([probabilities[:, groups == g].sum(1) for g in range(classes)], axis=1)
        assert table.loc[(classes, "sum"), "accuracy"] == pytest.approx(
            (sums.argmax(axis=1) == groups[truth]).mean()
        )
    assert table.loc[(30, "sum"), "accuracy"] == table.loc[(30, "class"), "accuracy"]
    by_class = table.xs("class", level="merged_by")["accuracy"]
    assert by_class[10] >= by_class[20] >= by_class[30]
