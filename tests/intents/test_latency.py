from __future__ import annotations

import time

from iac_lib.intents.latency import measure_latency


def test_actions_get_their_batch_and_are_timed_apart():
    asked = []

    def slow(batch, run):
        asked.append((batch, run))
        time.sleep(0.002 * batch)

    table = measure_latency({"slow": slow, "fast": lambda batch, run: None}, (1, 4), runs=8)
    assert {batch for batch, _ in asked} == {1, 4}
    assert [run for batch, run in asked if batch == 1] == list(range(9))
    p50 = table.set_index(["part", "batch"])["p50_ms"]
    assert p50["slow", 1] > p50["fast", 1] and p50["slow", 4] > p50["slow", 1]
    assert (table["p95_ms"] >= table["p50_ms"]).all()
