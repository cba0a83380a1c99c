from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import cosine_similarity

from iac_lib.intents.baselines import compare_descriptions, describe_intents, predict_commonest
from iac_lib.intents.taxonomy import load_taxonomy
from tests.intents.embeddings import draw_embeddings


def test_commonest_is_the_lowest_of_equals():
    assert predict_commonest(np.array([2, 5, 5, 2, 1]), 3).tolist() == [2, 2, 2]


def test_similarity_is_the_cosine_whatever_the_length():
    rng = np.random.default_rng(0)
    requests, descriptions = rng.normal(size=(20, 8)), rng.normal(size=(4, 8))
    found = compare_descriptions(3 * requests, descriptions)
    np.testing.assert_allclose(found, cosine_similarity(requests, descriptions))
    assert compare_descriptions(np.zeros((1, 8)), descriptions).tolist() == [[0, 0, 0, 0]]


def test_nearest_description_finds_separable_intents():
    codes = np.random.default_rng(0).integers(6, size=300)
    centres = draw_embeddings(np.arange(6), noise=0.0)
    requests = draw_embeddings(codes, noise=0.7)
    nearest = compare_descriptions(requests, centres).argmax(axis=1)
    assert (nearest == codes).mean() > 0.95


def test_descriptions_are_worded_for_an_embedder():
    taxonomy = load_taxonomy()
    texts = describe_intents(taxonomy.names, taxonomy.descriptions)
    assert texts[1].startswith("creative writing: A story")
    with pytest.raises(ValueError):
        describe_intents(taxonomy.names, taxonomy.descriptions[:-1])
