from __future__ import annotations

import numpy as np
import pytest

from iac_lib.intents.epochs import Recipe
from iac_lib.intents.splits import Split
from tests.intents.embeddings import DIMENSION, draw_embeddings

torch = pytest.importorskip("torch", reason="training needs torch: make models")

from iac_lib.intents.training import PAPER_RECIPE, build_network, train_head  # noqa: E402

pytestmark = pytest.mark.models

INTENTS = tuple("abcdef")
CODES = np.random.default_rng(0).integers(len(INTENTS), size=600)
SHORT = Recipe(3e-3, epochs=4, batch_size=128, weight_decay=0.01, warm_up=0.05)


@pytest.fixture(scope="module")
def learned():
    return train_head(
        draw_embeddings(CODES, noise=0.7), CODES, INTENTS, "by hand", recipe=SHORT, seed=3
    )


def test_separable_intents_are_learned(learned):
    assert learned.head.about["metrics"]["test_accuracy"] > 0.95
    assert learned.head.about["metrics"]["test_macro_f1"] > 0.95


def test_shuffled_labels_are_not():
    shuffled = np.random.default_rng(1).permutation(CODES)
    head = train_head(draw_embeddings(CODES, noise=0.7), shuffled, INTENTS, "e", recipe=SHORT).head
    assert head.about["metrics"]["test_accuracy"] < 0.4  # chance is 0.17, 58 test rows


def test_numpy_computes_what_torch_does(learned):
    network = build_network(DIMENSION, len(INTENTS)).eval()
    network.load_state_dict({k: torch.as_tensor(v) for k, v in learned.head.arrays.items()})
    x = np.random.default_rng(0).normal(size=(50, DIMENSION)).astype(np.float32)
    with torch.no_grad():
        expected = network(torch.as_tensor(x)).numpy()
    found = learned.head.logits(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(learned.head.logits(x[0]), expected[0], rtol=1e-4, atol=1e-4)


def test_same_seed_same_head(learned):
    embeddings = draw_embeddings(CODES, noise=0.7)
    state = torch.random.get_rng_state()
    again = train_head(embeddings, CODES, INTENTS, "by hand", recipe=SHORT, seed=3)
    assert torch.equal(state, torch.random.get_rng_state())
    for name, array in learned.head.arrays.items():
        np.testing.assert_array_equal(array, again.head.arrays[name])
    assert learned.curve.equals(again.curve)
    other = train_head(embeddings, CODES, INTENTS, "by hand", recipe=SHORT, seed=4)
    assert not np.array_equal(other.head.arrays["output.bias"], again.head.arrays["output.bias"])


def test_best_validation_epoch_is_kept():
    """With noise that no network sees through, the last epoch is not the best."""
    embeddings = draw_embeddings(CODES, noise=4.0)
    trained = train_head(embeddings, CODES, INTENTS, "e", recipe=PAPER_RECIPE)
    curve, rows = trained.curve, trained.split.validation
    assert len(curve) == 25
    kept = curve[curve["kept"]].iloc[0]
    assert kept["validation_macro_f1"] == curve["validation_macro_f1"].max()
    assert kept["epoch"] < 25
    found = trained.head.logits(embeddings[rows]).argmax(axis=1)
    assert (found == CODES[rows]).mean() == pytest.approx(kept["validation_accuracy"])


def test_rate_warms_up_and_falls_as_a_cosine():
    rates = [PAPER_RECIPE.rate(step, 100) for step in range(100)]
    assert rates[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert np.argmax(rates) == 4
    assert rates[5 + 95 // 2] == pytest.approx(0.5, abs=0.02)
    assert 0 < rates[-1] < 0.001
    assert (np.diff(rates[5:]) < 0).all()


def test_test_rows_are_not_seen(learned):
    """Other labels and embeddings there: the same weights."""
    embeddings, codes = draw_embeddings(CODES, noise=0.7), CODES.copy()
    rows = learned.split.test
    embeddings[rows], codes[rows] = -embeddings[rows], 0
    again = train_head(
        embeddings, codes, INTENTS, "e", split=learned.split, recipe=SHORT, seed=3
    ).head
    np.testing.assert_array_equal(
        again.arrays["hidden2.weight"], learned.head.arrays["hidden2.weight"]
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda x, y: (x[:-1], y), "600 codes for embeddings of shape"),
        (lambda x, y: (x, np.where(np.arange(600) == 7, -1, y)), "row 7 has code -1"),
        (lambda x, y: (x * np.where(np.arange(600) == 7, np.nan, 1)[:, None], y), "row 7 is not"),
        (lambda x, y: (x[:2], y[:2]), "no validation rows"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(change, problem):
    embeddings, codes = change(draw_embeddings(CODES, noise=0.7), CODES)
    with pytest.raises(ValueError, match=problem):
        train_head(embeddings, codes, INTENTS, "e", recipe=SHORT)


def test_parts_of_a_given_split_are_counted_on_the_card():
    rows = np.arange(600)
    split = Split(rows[:400], rows[400:500], rows[500:])
    head = train_head(
        draw_embeddings(CODES, noise=0.7),
        CODES,
        INTENTS,
        "e",
        about={"labels": "by hand"},
        split=split,
        recipe=SHORT,
    ).head
    assert head.about["rows"] == {"train": 400, "validation": 100, "test": 100}
    assert head.about["labels"] == "by hand"


def test_conversations_are_split_whole_or_refused():
    embeddings, conversations = draw_embeddings(CODES, noise=0.7), np.arange(600) // 2
    trained = train_head(embeddings, CODES, INTENTS, "e", conversations=conversations, recipe=SHORT)
    assert not set(conversations[trained.split.train]) & set(conversations[trained.split.test])
    rows = np.arange(600)
    halves = Split(rows[:399], rows[399:500], rows[500:])
    with pytest.raises(ValueError, match="conversation 199 is in two parts"):
        train_head(
            embeddings, CODES, INTENTS, "e", conversations=conversations, split=halves, recipe=SHORT
        )
