"""What an intent costs on one thread, embedder and heads apart. `make bench` prints it."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from iac_lib.intents import classifier
from iac_lib.intents.classifier import Head
from iac_lib.intents.taxonomy import load_taxonomy
from iac_lib.models import ModelNotFound, find_model
from iac_lib.reuse import continuation
from iac_lib.reuse.continuation import ContinuationPredictor

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]

D = 384
# A multi-turn predictor of about a million weights, the size that SAECache gives its own.
MILLION = (D, 1216, 512, 1)
QUERY = "[turn 2] And how would I do the same for a list of dictionaries in Python, sorted by date?"


def draw(shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.normal(0, 0.05, shape).astype(np.float32) for name, shape in shapes.items()}


def make_million() -> Callable[[np.ndarray], np.ndarray]:
    shapes = [{"weight": (wide, fan_in), "bias": (wide,)} for fan_in, wide in pairwise(MILLION)]
    layers = [draw(shape) for shape in shapes]
    assert 0.9e6 < sum(array.size for layer in layers for array in layer.values()) < 1.2e6

    def run(x: np.ndarray) -> np.ndarray:
        for layer in layers:
            x = np.maximum(x @ layer["weight"].T + layer["bias"], 0)
        return x

    return run


def median_ms(action: Callable[[], object], runs: int) -> float:
    """Return the median of CPU time, which on one thread is what a clock shows if it runs alone."""
    action()
    times = []
    for _ in range(runs):
        started = time.process_time()
        action()
        times.append(time.process_time() - started)
    return 1000 * float(np.median(times))


@pytest.fixture(scope="module")
def heads() -> dict[str, tuple[float, float]]:
    """Median milliseconds at batch 1 and requests a second at batch 32, by head."""
    names = load_taxonomy().names
    head = Head(draw(classifier.name_shapes(D, len(names))), names, "random")
    lpc = ContinuationPredictor(draw(continuation.name_shapes(D + 1)), "random")
    x = np.random.default_rng(1).normal(size=(32, D + 1)).astype(np.float32)
    million = make_million()
    measured = {}
    with threadpool_limits(1):
        for name, run, width in (
            ("intent head", head.probabilities, D),
            ("LPC's predictor", lpc.score, D + 1),
            ("a million weights", million, D),
        ):
            one, many = x[0, :width].copy(), x[:, :width].copy()
            alone = median_ms(lambda run=run, one=one: run(one), 300)
            batch = median_ms(lambda run=run, many=many: run(many), 100)
            measured[name] = alone, 32_000 / batch
            print(f"\n{name}: p50 {alone:.3f} ms alone, {32_000 / batch:,.0f} requests/s by 32")
    return measured


def test_batches_pay_and_small_heads_are_cheaper(heads):
    for alone, throughput in heads.values():
        assert throughput > 1000 / alone
    assert heads["LPC's predictor"][0] < heads["intent head"][0]
    assert heads["a million weights"][0] < heads["intent head"][0]


@pytest.mark.models
def test_the_embedder_is_what_costs(heads):
    torch = pytest.importorskip("torch", reason="embedding needs torch: make models")
    pytest.importorskip("transformers", reason="embedding needs transformers: make models")
    try:
        find_model("e5-small")
    except ModelNotFound as error:
        pytest.skip(str(error))
    from iac_lib.intents.embedders import E5Small

    embedder, threads = E5Small(), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for length, text in (("short", QUERY), ("256-token", " ".join([QUERY] * 20))):
            tokens = int(embedder.embed([text])[1][0])
            alone = median_ms(lambda text=text: embedder.embed([text]), 30)
            batch = median_ms(lambda text=text: embedder.embed([text] * 32), 3)
            print(
                f"\ne5-small, {length} query ({tokens} tokens): p50 {alone:.1f} ms alone, "
                f"{32_000 / batch:.0f} queries/s by 32"
            )
            assert alone > 3 * heads["intent head"][0]
    finally:
        torch.set_num_threads(threads)
