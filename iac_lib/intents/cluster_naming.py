"""Intent discovery for small models: cluster embeddings, then let the model name the clusters.

A variant of ours beside `iac_lib.intents.tnt_llm`, whose lists of classes ask too much of a
model that fits a CPU. Here the model sees a few requests of one cluster at a time. Knows
embeddings as an array, not where they come from.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.cluster.vq import kmeans2

from iac_lib.intents.class_lists import ClassListError, IntentClass, read_classes
from iac_lib.llm.answer import LLM, LLMError
from iac_lib.llm.ask import run_all
from iac_lib.llm.usage import Metered, Usage

SHOWN = 8
ATTEMPTS = 3
STARTS = 8
PROMPT = """\
Here are {count} requests of users to a chat assistant that resemble each other. What do these \
users want in common? Give it a name of one to four English words in lower case joined by \
underscores, and a description of at most 20 words. It is about the goal, neither a language nor \
the topic of a single request.

{requests}

Answer with one JSON object with "name" and "description", and nothing else."""
# A small model that is shown no example names the question instead of the requests.
EXAMPLES = (
    (
        (
            "[turn 1] what can I cook with leftover rice",
            "[turn 2] and without eggs?",
            "[turn 1] easy dessert for twelve people",
        ),
        '{"name": "cooking_ideas", "description": "What to cook, from what is there or for whom."}',
    ),
    (
        (
            "[turn 1] Translate this letter into Polish: Dear Anna, ...",
            "[turn 3] now in Czech",
            "[turn 1] how do you say 'see you soon' in Korean",
        ),
        '{"name": "translation", "description": "A text to be carried into another language."}',
    ),
)
# Words that fit any request: a name made of these alone says nothing.
EMPTY_WORDS = {
    "and", "chat", "class", "general", "kind", "message", "messages", "multiple", "no", "of",
    "question", "questions", "request", "requests", "template", "text", "type", "user", "users",
    "various",
}  # fmt: skip


@dataclass(frozen=True)
class NamedClusters:
    """Clusters of requests with names.

    Parameters
    ----------
    classes : tuple of IntentClass
        Clusters with the same name are one class.
    codes : int64[n]
        Position of each request's class; -1 where its cluster got no name.
    clusters : int64[n]
        Each request's cluster before merging.
    problems : tuple of str
        Clusters without a usable name.
    usage : Usage
    """

    classes: tuple[IntentClass, ...]
    codes: np.ndarray
    clusters: np.ndarray
    problems: tuple[str, ...]
    usage: Usage


def name_clusters(
    llm: LLM,
    texts: Sequence[str],
    embeddings: np.ndarray,
    count: int,
    seed: int = 0,
    workers: int = 8,
) -> NamedClusters:
    """Cluster requests and let a model name the clusters.

    Parameters
    ----------
    llm : LLM
    texts : sequence of str
        The requests, n of them.
    embeddings : float[n, d]
        L2-normalised.
    count : int
        Clusters, at most n.
    seed : int
    workers : int
        Requests to the model under way at a time.

    Raises
    ------
    ValueError
        If there are not as many embeddings as texts, or more clusters than texts.
    """
    if len(texts) != len(embeddings):
        raise ValueError(f"{len(texts)} texts have {len(embeddings)} embeddings")
    points = spread_out(embeddings)
    clusters, centres = cluster(points, count, seed)
    present = np.unique(clusters)
    metered = Metered(llm)

    def ask(number: int) -> IntentClass:
        shown = find_representatives(points, clusters, centres, number)
        return name_cluster(metered, [texts[i] for i in shown])

    found = run_all(ask, present.tolist(), workers, "naming clusters")
    classes: dict[str, IntentClass] = {}
    names: dict[int, str] = {}
    problems = []
    for number, named in zip(present.tolist(), found, strict=True):
        if isinstance(named, LLMError):
            problems.append(f"cluster {number}: {named}")
        else:
            # Of clusters that agree on a name, the first one's description stands.
            classes.setdefault(named.name, named)
            names[number] = named.name
    position = {name: code for code, name in enumerate(classes)}
    codes = np.array([position.get(names.get(number), -1) for number in clusters], np.int64)
    return NamedClusters(tuple(classes.values()), codes, clusters, tuple(problems), metered.usage)


def spread_out(embeddings: np.ndarray) -> np.ndarray:
    """Return float64[n, d]: embeddings less their mean, of length 1.

    All of E5's point much the same way. Uncentred, k-means gives outliers clusters of their
    own and leaves the rest in a few large ones.
    """
    centred = np.asarray(embeddings, np.float64) - np.mean(embeddings, axis=0)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    return centred / np.where(length == 0, 1, length)


def cluster(embeddings: np.ndarray, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return int64[n] and float64[count, d]: the best of several k-means and its centres.

    Raises
    ------
    ValueError
        If `count` is not within 1 and n.
    """
    points = np.asarray(embeddings, np.float64)
    if not 1 <= count <= len(points):
        raise ValueError(f"count must be within 1 and {len(points)}, got {count}")
    rng = np.random.default_rng(seed)
    tried = []
    with warnings.catch_warnings():
        # An empty cluster is no loss: it is left out when names are asked for.
        warnings.filterwarnings("ignore", "One of the clusters is empty", UserWarning)
        for _ in range(STARTS):
            centres, members = kmeans2(points, count, minit="++", seed=rng, missing="warn")
            tried.append((((points - centres[members]) ** 2).sum(), members, centres))
    _, members, centres = min(tried, key=lambda each: each[0])
    return members.astype(np.int64), centres


def find_representatives(
    embeddings: np.ndarray, clusters: np.ndarray, centres: np.ndarray, number: int
) -> np.ndarray:
    """Return the positions of a cluster's requests nearest to its centre, nearest first."""
    members = np.flatnonzero(clusters == number)
    distances = np.linalg.norm(embeddings[members] - centres[number], axis=1)
    return members[np.argsort(distances, kind="stable")[:SHOWN]]


def name_cluster(llm: LLM, requests: list[str]) -> IntentClass:
    """Return the class that a few requests make up.

    Raises
    ------
    LLMError
        If no answer of several holds exactly one class.
    """
    messages = []
    for shown, answer in EXAMPLES:
        messages += [
            {"role": "user", "content": write_question(shown)},
            {"role": "assistant", "content": answer},
        ]
    messages.append({"role": "user", "content": write_question(requests)})
    for _ in range(ATTEMPTS):
        answer = llm.complete(messages, max_tokens=128)
        try:
            return refuse_empty(read_classes(answer.text, 1)[0])
        except ClassListError as complaint:
            problem = complaint
        messages = [
            *messages,
            {"role": "assistant", "content": answer.text or "(nothing)"},
            {"role": "user", "content": str(problem)},
        ]
    raise LLMError(f"no usable name in {ATTEMPTS} answers, the last one: {problem}")


def write_question(requests: Sequence[str]) -> str:
    """Return the question that asks for a name of these requests."""
    listed = "\n\n".join(f"{i}. {text}" for i, text in enumerate(requests, start=1))
    return PROMPT.format(count=len(requests), requests=listed)


def refuse_empty(named: IntentClass) -> IntentClass:
    """Return the class, or raise `ClassListError` if its name would fit any request."""
    if EMPTY_WORDS.issuperset(named.name.split("_")):
        raise ClassListError(
            f"{named.name} fits any request. Name what these users want to have in the end."
        )
    return named
