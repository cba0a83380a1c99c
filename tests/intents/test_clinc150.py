"""Real queries, a real embedder, labels by others: does the whole classifier work?

CLINC150's queries are short and clean, so a high score shows that nothing is broken, not that
the task of the paper is easy.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from iac_lib.models import ModelNotFound, find_model
from iac_lib.traces.data import DataNotFound, find_data

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(900)]
EACH = {"train": 12, "val": 2, "test": 3}


@pytest.fixture(scope="module")
def clinc():
    """Return texts, intents, domains and parts: some of each intent from each official part."""
    try:
        full = json.loads(find_data("intents/clinc150_full.json").read_text())
        domains = json.loads(find_data("intents/clinc150_domains.json").read_text())
    except DataNotFound as error:
        pytest.skip(str(error))
    domain = {intent: name for name, members in domains.items() for intent in members}
    texts, intents, parts = [], [], []
    for part, each in EACH.items():
        taken: dict[str, int] = {}
        for text, intent in full[part]:
            if taken.get(intent, 0) < each:
                taken[intent] = taken.get(intent, 0) + 1
                texts.append(text)
                intents.append(intent)
                parts.append(part)
    return texts, np.array(intents), np.array([domain[i] for i in intents]), np.array(parts)


@pytest.fixture(scope="module")
def embedded(clinc):
    from iac_lib.intents.embedders import E5Small
    from iac_lib.intents.embedding_cache import embed_cached
    from iac_lib.intents.queries import mark_queries

    pytest.importorskip("torch", reason="training needs torch: make models")
    pytest.importorskip("transformers", reason="embedding needs transformers: make models")
    try:
        find_model("e5-small")
    except ModelNotFound as error:
        pytest.skip(str(error))
    embedder = E5Small()
    texts = clinc[0]
    means, _ = embed_cached(embedder, mark_queries(texts, [1] * len(texts)))
    return embedder, means / np.linalg.norm(means, axis=1, keepdims=True)


def train(embedded, names: np.ndarray, parts: np.ndarray):
    from iac_lib.intents.splits import Split
    from iac_lib.intents.training import train_head

    embedder, embeddings = embedded
    intents, codes = np.unique(names, return_inverse=True)
    split = Split(*(np.flatnonzero(parts == part) for part in EACH))
    return train_head(embeddings, codes, intents.tolist(), embedder.key, split=split).head


@pytest.fixture(scope="module")
def domain_head(clinc, embedded):
    return train(embedded, clinc[2], clinc[3])


@pytest.fixture(scope="module")
def intent_head(clinc, embedded):
    return train(embedded, clinc[1], clinc[3])


@pytest.mark.parametrize(("head", "least"), [("domain_head", 0.85), ("intent_head", 0.75)])
def test_labels_are_learned(head, least, request):
    head = request.getfixturevalue(head)
    print(f"\nCLINC150, {len(head.intents)} classes: {head.about['metrics']}")
    assert head.about["metrics"]["test_accuracy"] > least


def test_text_is_classified_as_its_embedding_is(clinc, embedded, domain_head):
    """From text to intent, in a batch and one by one, as from the cached embeddings."""
    from iac_lib.intents.classify import IntentClassifier

    texts, _, _, parts = clinc
    embedder, embeddings = embedded
    rows = np.flatnonzero(parts == "test")[:40]
    expected = domain_head.probabilities(embeddings[rows])
    classifier = IntentClassifier(embedder, domain_head)
    codes, probabilities = classifier.predict([[texts[row]] for row in rows], [1] * len(rows))
    # Padding in a batch of other lengths, and bfloat16, change the last digits.
    np.testing.assert_allclose(probabilities, expected, atol=0.1)
    assert (codes == expected.argmax(axis=1)).mean() >= 0.95
    alone = [classifier.predict_one([texts[row]], 1)[0] for row in rows]
    assert (np.array(alone) == codes).mean() >= 0.95


def test_the_nearest_description_is_better_than_chance(clinc, embedded):
    from iac_lib.intents.baselines import compare_descriptions
    from iac_lib.intents.embedding_cache import embed_cached

    _, intents, _, parts = clinc
    embedder, embeddings = embedded
    names, codes = np.unique(intents, return_inverse=True)
    described, _ = embed_cached(embedder, [name.replace("_", " ") for name in names])
    rows = parts == "test"
    nearest = compare_descriptions(embeddings[rows], described).argmax(axis=1)
    accuracy = float((nearest == codes[rows]).mean())
    print(f"\nCLINC150, nearest of {len(names)} names: {accuracy:.3f}")
    assert accuracy > 0.3


def test_concatenated_prompts_fit_the_embedder(clinc, embedded):
    """Counted by E5's own tokenizer, prefix and special tokens included."""
    from iac_lib.reuse.prompts import concatenate_prompts

    texts, embedder = clinc[0], embedded[0]
    _, tokenizer = embedder._loaded

    def find_tokens(text: str) -> list[tuple[int, int]]:
        return tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)[
            "offset_mapping"
        ]

    for count in (1, 2, 5):
        prompts = [" ".join(texts[i::count]) for i in range(count)]
        text = concatenate_prompts(prompts, find_tokens)
        assert 480 < len(tokenizer(embedder.prefix + text)["input_ids"]) <= 512
    short = concatenate_prompts(texts[:3], find_tokens)
    assert short == "\n".join(texts[:3])
