from __future__ import annotations

import socket
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iac_lib.intents.embedders import (
    BATCH_TOKENS,
    E5Small,
    HubEmbedder,
    MiniLM,
    MissingPackages,
    batches,
    pool_requests,
)
from iac_lib.intents.queries import QUERY_TOKENS, mark_queries
from iac_lib.models import ModelCorrupt, ModelNotFound, find_model

TEXTS = mark_queries(
    [
        "How do I undo the last commit in git?",
        "Und auf Deutsch?",
        "写一首关于秋天的诗",
        "Fix this: " + "for i in range(10): print(i)\n" * 60,
        "",
        "thanks",
    ],
    [1, 2, 3, 4, 5, 60],
)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=12), st.integers(0, 9))
def test_pooling_is_the_mean_over_all_tokens(windows, seed):
    rng = np.random.default_rng(seed)
    tokens = rng.integers(1, 9, 8).astype(np.int32)
    words = [rng.normal(size=(count, 5)).astype(np.float32) for count in tokens]
    means = np.stack([word.mean(axis=0) for word in words])
    first = np.array([start for start, _ in windows], np.int64)
    last = np.array([start + more for start, more in windows], np.int64)
    pooled = pool_requests(means, tokens, first, last)
    assert pooled.shape == (len(windows), 5) and pooled.dtype == np.float32
    for row, (a, b) in enumerate(zip(first, last, strict=True)):
        mean = np.concatenate(words[a : b + 1]).mean(axis=0)
        np.testing.assert_allclose(pooled[row], mean / np.linalg.norm(mean), atol=2e-5)


def test_a_vector_of_zeros_stays_finite():
    none = np.zeros(1, np.int64)
    assert not pool_requests(np.zeros((1, 3), np.float32), np.ones(1, np.int32), none, none).any()


@given(st.lists(st.integers(2, QUERY_TOKENS), max_size=200))
def test_batches_cover_every_text_once_and_stay_small(lengths):
    tokens = np.array(lengths, np.int32)
    got = list(batches(tokens))
    assert sorted(row for batch in got for row in batch) == list(range(len(tokens)))
    assert all(tokens[batch].max() * len(batch) <= BATCH_TOKENS for batch in got)
    # No row is padded to more than twice its length.
    assert all(2 * tokens[rows].min() >= tokens[rows].max() for rows in got)


def test_whatever_changes_a_vector_changes_the_key():
    keys = [E5Small().key, MiniLM().key, HubEmbedder().key]
    keys += [HubEmbedder(prefix="query: ").key, HubEmbedder("other/e5").key]
    assert len(set(keys)) == len(keys)
    assert E5Small("float32").key == E5Small().key
    assert E5Small().key.startswith("e5-small-")
    assert HubEmbedder().key.startswith("multilingual-e5-large-instruct-")


def test_without_files_or_packages_it_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("IAC_CACHE", str(tmp_path))
    with pytest.raises(ModelNotFound, match="make models"):
        E5Small().embed(["a"])
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingPackages, match="make models"):
        HubEmbedder(str(tmp_path)).embed(["a"])


def test_importing_needs_no_torch():
    code = "import sys, iac_lib.intents.embedding_cache; print('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert shown.strip() == "False"


@pytest.fixture(scope="module", params=[E5Small, MiniLM], ids=lambda kind: kind.name)
def embedder(request):
    pytest.importorskip("torch", reason="run `make models`")
    pytest.importorskip("transformers", reason="run `make models`")
    try:
        find_model(request.param.name)
    except (ModelNotFound, ModelCorrupt) as error:
        pytest.skip(str(error))
    return request.param("float32")


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


@pytest.mark.models
def test_a_text_gets_the_same_vector_in_any_company(embedder):
    means, tokens = embedder.embed(TEXTS)
    assert means.shape == (len(TEXTS), embedder.dimension)
    for row, text in enumerate(TEXTS):
        alone, count = embedder.embed([text])
        np.testing.assert_allclose(means[row], alone[0], atol=1e-4)
        assert tokens[row] == count[0]
    assert embedder.embed([])[0].shape == (0, embedder.dimension)


@pytest.mark.models
def test_means_are_over_tokens_and_not_normalised(embedder):
    import torch

    model, _ = embedder._loaded
    (ids,) = embedder.tokenise(TEXTS[:1])
    with torch.inference_mode():
        hidden = model(torch.tensor([ids])).last_hidden_state[0].numpy()
    means, tokens = embedder.embed(TEXTS[:1])
    assert tokens[0] == len(ids) == len(hidden)
    np.testing.assert_allclose(means[0], hidden.mean(axis=0), atol=1e-4)
    assert abs(np.linalg.norm(means[0]) - 1) > 0.01


@pytest.mark.models
def test_head_and_tail_of_a_long_query_reach_the_model(embedder):
    _, tokenizer = embedder._loaded
    words = " ".join(f"word{i}" for i in range(2_000))
    (ids,) = embedder.tokenise([f"[turn 7] {words} the very end"])
    assert len(ids) == QUERY_TOKENS
    assert (ids[0], ids[-1]) == (tokenizer.cls_token_id, tokenizer.sep_token_id)
    read = tokenizer.decode(ids[1:-1]).replace(" ", "")
    assert read.startswith(f"{embedder.prefix}[turn7]word0word1".replace(" ", ""))
    assert read.endswith("word1999theveryend")


@pytest.mark.models
def test_bfloat16_is_close_enough(embedder):
    half, tokens = type(embedder)("bfloat16").embed(TEXTS)
    means, same = embedder.embed(TEXTS)
    assert cosines(half, means).min() >= 0.999
    np.testing.assert_array_equal(tokens, same)


@pytest.mark.models
def test_no_network_is_needed(embedder, monkeypatch):
    def refuse(*_):
        raise AssertionError("asked for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert np.isfinite(type(embedder)().embed(["a"])[0]).all()


@pytest.mark.models
def test_meaning_is_near(embedder):
    alike = ["How can I revert my latest git commit?", "Compose a poem about autumn"]
    means, _ = embedder.embed(mark_queries(alike, [1, 1]))
    undo = embedder.embed(TEXTS[:1])[0].repeat(2, axis=0)
    near, far = cosines(means, undo)
    assert near > far + 0.05


@pytest.mark.models
def test_an_embedder_of_the_hub_loads_a_folder_alike(embedder):
    from_folder = HubEmbedder(
        str(find_model(embedder.name)), embedder.dimension, embedder.prefix, "float32"
    )
    np.testing.assert_array_equal(from_folder.embed(TEXTS)[0], embedder.embed(TEXTS)[0])
