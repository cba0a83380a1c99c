from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.calibration import calibration_curve

from iac_lib.intents.calibration import (
    calibration_error,
    fit_temperature,
    refuse_unsure,
    scale_temperature,
    tabulate_reliability,
)


def draw(temperature: float, rows: int = 20_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return truth drawn from known logits, and probabilities sharpened by 1 / temperature."""
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(rows, 5))
    true = softmax(logits, axis=1)
    truth = (rng.random(rows)[:, None] > true.cumsum(axis=1)).sum(axis=1)
    return truth, softmax(logits * temperature, axis=1), true


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_that_was_applied_is_found(temperature):
    truth, probabilities, true = draw(temperature)
    found = fit_temperature(truth, probabilities)
    assert found == pytest.approx(temperature, rel=0.05)
    np.testing.assert_allclose(scale_temperature(probabilities, temperature), true, atol=1e-6)
    assert calibration_error(truth, scale_temperature(probabilities, found)) < 0.015


def test_overconfidence_is_seen():
    truth, probabilities, true = draw(3.0)
    assert calibration_error(truth, probabilities) > 0.1
    assert calibration_error(truth, true) < 0.015


def test_table_is_that_of_scikit_learn():
    truth, probabilities, _ = draw(2.0, rows=500)
    table = tabulate_reliability(truth, probabilities, bins=10).dropna()
    right = probabilities.argmax(axis=1) == truth
    accuracy, confidence = calibration_curve(right, probabilities.max(axis=1), n_bins=10)
    np.testing.assert_allclose(table["accuracy"], accuracy)
    np.testing.assert_allclose(table["confidence"], confidence)


def test_error_is_the_mean_gap():
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.0, 1.0]])
    error = calibration_error(np.array([0, 1, 1, 1]), probabilities, bins=10)
    assert error == pytest.approx((2 * abs(0.5 - 0.9) + abs(1 - 0.6) + 0) / 4)


def test_every_request_is_in_a_bin():
    probabilities = np.array([[1.0, 0.0], [0.5, 0.5], [0.50001, 0.49999]])
    table = tabulate_reliability(np.zeros(3, int), probabilities, bins=2)
    assert table["requests"].tolist() == [1, 2]


def test_certain_and_wrong_is_still_finite():
    probabilities = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert np.isfinite(fit_temperature(np.array([0, 1, 1]), probabilities))


def test_refusing_the_unsure_keeps_fewer_and_better_ones():
    rng = np.random.default_rng(4)
    sure = rng.uniform(0.4, 1, 5000)
    truth = (rng.uniform(size=5000) > sure).astype(int)
    table = refuse_unsure(truth, np.column_stack([sure, 1 - sure]))
    assert table["kept"].iloc[0] == 1 and (table["kept"].diff().dropna() <= 0).all()
    right = np.maximum(sure, 1 - sure) >= 0.9
    at = table.set_index(table["threshold"].round(2)).loc[0.9]
    assert at["kept"] == pytest.approx(right.mean())
    assert at["accuracy"] > table["accuracy"].iloc[0] + 0.15
