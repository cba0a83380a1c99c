from __future__ import annotations

import json

import numpy as np
import pytest

from iac_lib.intents.calibration import scale_temperature
from iac_lib.intents.classifier import Head, name_shapes
from iac_lib.intents.taxonomy import load_taxonomy
from iac_lib.intents.weights import WeightsError, save_weights

THIRTY = load_taxonomy().names
D = 16


@pytest.fixture(scope="module")
def head() -> Head:
    rng = np.random.default_rng(0)
    arrays = {
        name: rng.normal(size=shape, scale=0.1).astype(np.float32)
        for name, shape in name_shapes(D, 30).items()
    }
    return Head(arrays, THIRTY, "by hand", {"seed": 0, "labels": "none", "metrics": {"f1": 0.5}})


@pytest.fixture
def saved(head, tmp_path):
    return head.save(tmp_path / "head.safetensors")


def test_a_saved_head_comes_back(head, saved):
    loaded = Head.load(saved)
    assert (loaded.intents, loaded.embedder, loaded.about) == (THIRTY, "by hand", head.about)
    for name, array in head.arrays.items():
        np.testing.assert_array_equal(loaded.arrays[name], array)
        assert loaded.arrays[name].dtype == np.float32
    assert sorted(p.name for p in saved.parent.iterdir()) == ["head.json", "head.safetensors"]


def test_layers_by_hand(head):
    """The paper's layers written out in double precision."""
    from scipy.stats import norm

    x = np.random.default_rng(1).normal(size=(9, D)).astype(np.float32)
    a = {name: array.astype(np.float64) for name, array in head.arrays.items()}
    h = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    h = h * a["norm.weight"] + a["norm.bias"]
    for layer in ("hidden1", "hidden2"):
        h = h @ a[f"{layer}.weight"].T + a[f"{layer}.bias"]
        h = h * norm.cdf(h)
    expected = h @ a["output.weight"].T + a["output.bias"]
    np.testing.assert_allclose(head.logits(x), expected, rtol=1e-3, atol=1e-4)
    probabilities = head.probabilities(x)
    assert probabilities.dtype == np.float32
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(head.probabilities(x[3]), probabilities[3], rtol=1e-4)


def test_cooling_scales_the_logits(head, tmp_path):
    x = np.random.default_rng(1).normal(size=(9, D)).astype(np.float32)
    cooled = head.cool(2.5)
    expected = scale_temperature(head.probabilities(x), 2.5)
    np.testing.assert_allclose(cooled.probabilities(x), expected, rtol=1e-3)
    assert Head.load(cooled.save(tmp_path / "c.safetensors")).about["temperature"] == 2.5


def rewrite(path, **changes):
    card = path.with_suffix(".json")
    card.write_text(json.dumps(json.loads(card.read_text()) | changes))


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


def save_other_shape(path):
    card = json.loads(path.with_suffix(".json").read_text())
    arrays = {name: np.zeros(shape, np.float32) for name, shape in name_shapes(D + 1, 30).items()}
    save_weights(path, arrays, card)


def save_too_few(path):
    card = json.loads(path.with_suffix(".json").read_text())
    save_weights(path, {"norm.weight": np.zeros(D, np.float32)}, card)


def save_doubles(path):
    card = json.loads(path.with_suffix(".json").read_text())
    save_weights(path, {n: np.zeros(s) for n, s in name_shapes(D, 30).items()}, card)


WRONG = {
    "a flipped bit": (flip_a_bit, "checksum differs"),
    "no card": (lambda p: p.with_suffix(".json").unlink(), "head.json is missing"),
    "no weights": (lambda p: p.unlink(), "head.safetensors is missing"),
    "half a card": (lambda p: p.with_suffix(".json").write_text('{"format'), "is not JSON"),
    "a card of a list": (lambda p: p.with_suffix(".json").write_text("[]"), "describes None"),
    "another network": (lambda p: rewrite(p, format="x"), "describes 'x'"),
    "fewer intents": (lambda p: rewrite(p, intents=list(THIRTY[:29])), "other intents than"),
    "another order": (lambda p: rewrite(p, intents=list(THIRTY[::-1])), "other intents than"),
    "another dimension": (lambda p: rewrite(p, dimension=D + 1), "norm.weight is"),
    "weights of another dimension": (save_other_shape, "norm.weight is"),
    "missing arrays": (save_too_few, "norm.bias is missing"),
    "doubles": (save_doubles, "F64"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_does_not_fit_is_refused(saved, wrong, monkeypatch):
    change, problem = WRONG[wrong]
    change(saved)
    monkeypatch.setattr(Head, "__post_init__", lambda self: pytest.fail("it was loaded"))
    with pytest.raises(WeightsError, match=problem):
        Head.load(saved)


def test_a_card_without_a_field_is_refused(saved):
    card = json.loads(saved.with_suffix(".json").read_text())
    del card["embedder"]
    saved.with_suffix(".json").write_text(json.dumps(card))
    with pytest.raises(WeightsError, match="lacks embedder"):
        Head.load(saved)


def test_a_head_of_other_intents_must_be_asked_for(head, tmp_path):
    names = tuple(reversed(THIRTY))
    path = Head(head.arrays, names, "by hand").save(tmp_path / "h.safetensors")
    with pytest.raises(WeightsError, match="not the 30 asked for"):
        Head.load(path)
    assert Head.load(path, intents=names).intents == names


def test_arrays_that_do_not_fit_make_no_head(head):
    with pytest.raises(WeightsError, match="a head of 29 intents needs"):
        Head(head.arrays, THIRTY[:29], "by hand")


def test_nothing_is_written_under_a_wrong_name_or_with_a_wrong_card(head, tmp_path):
    with pytest.raises(WeightsError, match=r"end in \.safetensors"):
        head.save(tmp_path / "head.bin")
    with pytest.raises(WeightsError, match="is not JSON"):
        Head(head.arrays, THIRTY, "e", {"seed": object()}).save(tmp_path / "head.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_embeddings_that_are_no_numbers_are_refused(head, wrong):
    embeddings = np.zeros((3, head.dimension), np.float32)
    embeddings[1, 2] = wrong
    for given in (embeddings, embeddings[1]):
        with pytest.raises(ValueError, match="not finite"):
            head.probabilities(given)
    with pytest.raises(ValueError, match=f"takes embeddings of {head.dimension}"):
        head.probabilities(np.zeros((2, head.dimension + 1), np.float32))


def test_a_card_without_a_list_of_intents_is_refused(saved):
    card = json.loads(saved.with_suffix(".json").read_text())
    saved.with_suffix(".json").write_text(json.dumps({**card, "intents": 5}))
    with pytest.raises(WeightsError, match="lists no intents"):
        Head.load(saved)
