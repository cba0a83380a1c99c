from __future__ import annotations

import numpy as np
import pytest

from iac_lib.intents.splits import Split, split_conversations, split_stratified

torch = pytest.importorskip("torch", reason="training needs torch: make models")

from iac_lib.reuse.continuation_training import (  # noqa: E402
    build_network,
    train_predictor,
)

pytestmark = pytest.mark.models

D = 16
CONVERSATIONS = np.repeat(np.arange(500), 4)
TURNS = np.tile([1, 2, 3, 4], 500)


def draw(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs, alike but for a little as an embedder's are, and what it tells."""
    rng = np.random.default_rng(seed)
    direction = np.random.default_rng(9).normal(size=D) / np.sqrt(D)
    followed = rng.random(len(TURNS)) < 0.7
    x = 5 + 0.05 * rng.normal(size=(len(TURNS), D)) + 0.3 * np.outer(followed, direction)
    return np.column_stack([x, np.log(TURNS)]).astype(np.float32), followed


@pytest.fixture(scope="module")
def learned():
    return train_predictor(*draw(), CONVERSATIONS, "by hand", about={"data": "drawn"}, seed=1)


def test_what_follows_from_the_inputs_is_learned(learned):
    x, followed = draw()
    rows = learned.split.test
    right = (learned.predictor.score(x[rows]) > 0.5) == followed[rows]
    assert right.mean() > 0.95
    assert learned.predictor.about["metrics"]["test_auc"] > 0.98
    unseen, followed = draw(seed=3)
    assert ((learned.predictor.score(unseen) > 0.5) == followed).mean() > 0.95
    assert learned.predictor.about["data"] == "drawn"
    assert learned.curve["kept"].sum() == 1


def test_shuffled_labels_are_not_learned():
    x, followed = draw()
    shuffled = np.random.default_rng(2).permutation(followed)
    predictor = train_predictor(x, shuffled, CONVERSATIONS, "e").predictor
    assert predictor.about["metrics"]["test_auc"] == pytest.approx(0.5, abs=0.12)


def test_probabilities_are_not_shifted_by_the_weights_of_the_loss():
    """A quarter is followed, which no input tells: the mean score is a quarter, not a half."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(len(TURNS), 3)).astype(np.float32)
    followed = rng.random(len(TURNS)) < 0.25
    trained = train_predictor(x, followed, CONVERSATIONS, "e")
    rows = trained.split.train
    assert trained.predictor.score(x[rows]).mean() == pytest.approx(0.25, abs=0.06)


def test_numpy_computes_what_torch_does(learned):
    x, _ = draw(seed=3)
    network = build_network(x.shape[1]).double()
    arrays = learned.predictor.arrays
    network.load_state_dict({name: torch.as_tensor(array) for name, array in arrays.items()})
    with torch.no_grad():
        expected = network(torch.as_tensor(x).double()).numpy()[:, 0]
    # The inputs are large against what tells them apart: float32 keeps about four digits.
    np.testing.assert_allclose(learned.predictor.logits(x), expected, rtol=1e-2, atol=1e-2)


def test_same_seed_same_predictor(learned):
    again = train_predictor(*draw(), CONVERSATIONS, "by hand", about={"data": "drawn"}, seed=1)
    for name, array in learned.predictor.arrays.items():
        np.testing.assert_array_equal(array, again.predictor.arrays[name])
    assert learned.predictor.about == again.predictor.about


def test_a_split_by_turn_shares_conversations_and_is_refused():
    x, followed = draw()
    by_turn = split_stratified(followed.astype(int))
    shared = set(CONVERSATIONS[by_turn.train]) & set(CONVERSATIONS[by_turn.test])
    assert len(shared) > 100
    with pytest.raises(ValueError, match="in two parts of the split, which leaks"):
        train_predictor(x, followed, CONVERSATIONS, "e", split=by_turn)


def test_what_a_split_by_turn_would_have_claimed():
    """Every conversation has its own inputs and an end that nothing tells: 0.5 is the truth."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(500, D)), 4, axis=0).astype(np.float32)
    followed = np.repeat(rng.random(500) < 0.5, 4)
    honest = train_predictor(x, followed, CONVERSATIONS, "e").predictor
    assert honest.about["metrics"]["test_auc"] == pytest.approx(0.5, abs=0.15)
    each_its_own = np.arange(len(x))
    leaking = train_predictor(x, followed, each_its_own, "e").predictor
    assert leaking.about["metrics"]["test_auc"] > 0.9


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda x, y, c: (x[1:], y, c), "1999 inputs, 2000 labels"),
        (lambda x, y, c: (x, np.ones(len(x), bool), c), "all followed or all not"),
        (lambda x, y, c: (x, y, np.zeros(len(x), int)), "no validation rows"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(change, problem):
    with pytest.raises(ValueError, match=problem):
        train_predictor(*change(*draw(), CONVERSATIONS), "e")


def test_a_given_split_is_used():
    x, followed = draw()
    rows = split_conversations(CONVERSATIONS, seed=5)
    given = Split(rows.train, rows.test, rows.validation)
    trained = train_predictor(x, followed, CONVERSATIONS, "e", split=given)
    assert trained.split is given
