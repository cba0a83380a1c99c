from __future__ import annotations

import numpy as np
import pytest

from iac_lib.intents.hybrid import Mixture, mix, tune_mixture

rng = np.random.default_rng(0)
K = 5


def opinions(codes, clarity):
    """Log-probabilities that favour the true code by `clarity` on average."""
    scores = rng.normal(size=(len(codes), K))
    scores[np.arange(len(codes)), codes] += clarity
    return scores - np.log(np.exp(scores).sum(1, keepdims=True))


def test_weight_zero_leaves_the_language_model_alone():
    logs = opinions(rng.integers(K, size=20), 1.0)
    assert mix(logs, rng.normal(size=(20, K)), Mixture(0.0, 0.05)) == pytest.approx(logs)


def test_rows_are_distributions_whatever_the_weights():
    mixed = mix(rng.normal(size=(20, K)), rng.uniform(-1, 1, (20, K)), Mixture(2.0, 0.01))
    assert np.exp(mixed).sum(1) == pytest.approx(np.ones(20))


def test_by_hand():
    logs = np.log([[0.5, 0.5]])
    similarities = np.array([[0.1 * np.log(3), 0.0]])
    assert np.exp(mix(logs, similarities, Mixture(1.0, 0.1))) == pytest.approx(
        np.array([[0.75, 0.25]])
    )
    assert np.exp(mix(logs, similarities, Mixture(2.0, 0.1))) == pytest.approx(
        np.array([[0.9, 0.1]])
    )


def test_two_opinions_are_better_than_one():
    codes = rng.integers(K, size=600)
    logs, similarities = opinions(codes, 1.5), opinions(codes, 1.5) * 0.05
    mixture = tune_mixture(logs[:300], similarities[:300], codes[:300])
    mixed = mix(logs[300:], similarities[300:], mixture).argmax(1) == codes[300:]
    assert mixture.weight > 0
    assert mixed.mean() > (logs[300:].argmax(1) == codes[300:]).mean() + 0.05


def test_noise_gets_no_weight():
    codes = rng.integers(K, size=600)
    mixture = tune_mixture(opinions(codes, 3.0), rng.normal(size=(600, K)), codes)
    assert mixture.weight == 0


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="one shape"):
        mix(np.zeros((2, 3)), np.zeros((2, 4)), Mixture(1.0, 0.1))
