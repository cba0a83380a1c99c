"""Sweeps: complete, the same whatever runs them, and nothing half done."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config

from iac_lib.cache.optimum import optimum
from iac_lib.cache.percentiles import measure_percentiles
from iac_lib.cache.replay import replay
from iac_lib.cache.rolling import replay_folds
from iac_lib.cache.sweep import close_gap, find_best, subtract, summarise, sweep
from iac_lib.policies import GDSF, IAC, LRU, MIN, TBS
from iac_lib.traces.experiment import Experiment
from iac_lib.traces.synthetic import generate


def make(seed: int):
    return generate("wildchat-shaped", 300, seed)


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return Experiment(make, 200, 100)


POLICIES = [LRU(), IAC(), GDSF(cost="best"), TBS()]


@pytest.fixture(scope="module")
def table(experiment) -> pd.DataFrame:
    return sweep(experiment, POLICIES, [5000, 20_000], seeds=[3, 4], rates=[1.0, 5.0], n_jobs=2)


def test_every_combination_once(table):
    keys = ["policy", "capacity_tokens", "seed", "rate"]
    assert len(table) == len(table[keys].drop_duplicates()) == 5 * 2 * 2 * 2
    assert set(table["policy"]) == {"lru", "iac", "gdsf", "tb+s", "optimum"}
    assert (table["data"] == "synthetic wildchat-shaped").all()


def test_two_settings_under_one_name_are_refused(experiment):
    """Their rows would be averaged as if they were seeds of one policy."""
    with pytest.raises(ValueError, match="two policies are called 'iac'"):
        sweep(experiment, [IAC(), IAC(window="mean")], [5000])


def test_a_row_is_what_a_single_replay_says(table, experiment):
    history, trace = experiment(3, 5.0)
    at = (table["seed"] == 3) & (table["rate"] == 5.0) & (table["capacity_tokens"] == 5000)
    rows = table[at].set_index("policy")["hit_rate"]
    assert rows["iac"] == replay(trace, IAC().fit(history), 5000).hit_rate
    assert rows["optimum"] == optimum(trace, 5000).hit_rate
    assert rows["gdsf"] == max(replay(trace, GDSF(c), 5000).hit_rate for c in ("tokens", "one"))


def test_the_best_threshold_is_named_and_is_the_best(table, experiment):
    settings = table.loc[table["policy"] == "tb+s", "setting"]
    assert settings.str.fullmatch(r"threshold_s=[\d.]+").all()
    _, trace = experiment(3, 5.0)
    best, setting = find_best(TBS(), trace, 5000)
    assert setting == f"threshold_s={float(setting.split('=')[1])}"
    assert best == max(replay(trace, c, 5000).hit_rate for c in TBS().candidates())


def test_the_same_table_from_one_job(table, experiment):
    again = sweep(experiment, POLICIES, [5000, 20_000], seeds=[3, 4], rates=[1.0, 5.0], n_jobs=1)
    pd.testing.assert_frame_equal(again, table)


@pytest.mark.slow
def test_the_same_table_from_a_dask_cluster(table, experiment):
    distributed = pytest.importorskip("dask.distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as c,
        distributed.Client(c),
        parallel_config(backend="dask"),
    ):
        again = sweep(experiment, [LRU()], [5000, 20_000], seeds=[3, 4], rates=[1.0, 5.0])
    kept = table[table["policy"].isin(["lru", "optimum"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, kept)


def test_history_and_replay_never_share_a_random_stream(experiment):
    history, trace = experiment(0, 5.0)
    other, _ = experiment(1, 5.0)
    assert not set(history.requests["conversation_id"]) & set(trace.requests["conversation_id"])
    starts = [np.diff(t.column("arrival_s")[t.column("turn") == 1])[:20] for t in (history, trace)]
    assert not np.allclose(*starts)
    assert not np.array_equal(history.column("arrival_s")[:50], other.column("arrival_s")[:50])


def test_the_interval_is_students_t():
    frame = pd.DataFrame({"policy": ["a"] * 4, "hit_rate": [0.1, 0.2, 0.3, 0.4]})
    row = summarise(frame, ["policy"]).iloc[0]
    half = 3.182446 * np.std([0.1, 0.2, 0.3, 0.4], ddof=1) / 2
    assert (row["mean"], row["seeds"]) == (pytest.approx(0.25), 4)
    assert (row["low"], row["high"]) == (pytest.approx(0.25 - half), pytest.approx(0.25 + half))


def test_one_seed_has_no_interval():
    row = summarise(pd.DataFrame({"policy": ["a"], "hit_rate": [0.5]}), ["policy"]).iloc[0]
    assert row["mean"] == 0.5 and np.isnan(row["low"]) and np.isnan(row["high"])


def test_the_gap_runs_from_lru_to_the_optimum():
    means = pd.DataFrame({"policy": ["lru", "x", "optimum"], "mean": [0.1, 0.2, 0.5]})
    assert close_gap(means)["gap_closed"].tolist() == pytest.approx([0.0, 0.25, 1.0])


def test_percentiles_are_per_request_and_overall_is_per_token(experiment):
    _, trace = experiment(0, 5.0)
    row = measure_percentiles(trace, [LRU()], 20_000).iloc[0]
    result = replay(trace, LRU(), 20_000)
    assert row["overall"] == result.hit_rate
    assert row["p90"] == np.percentile(result.hit_tokens / result.input_tokens, 90)


def test_folds_learn_only_from_the_fold_before():
    conversations = make(0)
    folds = replay_folds(conversations, [LRU(), IAC()], 10_000, fold=100)
    assert list(folds["fold"]) == ["0.1K-0.2K"] * 2 + ["0.2K-0.3K"] * 2
    longer = replay_folds(generate("wildchat-shaped", 300), [IAC()], 10_000, fold=100)
    cut = replay_folds(generate("wildchat-shaped", 300).take(0, 200), [IAC()], 10_000, fold=100)
    assert cut["hit_rate"].iloc[0] == longer["hit_rate"].iloc[0]


def test_an_interrupted_sweep_leaves_nothing(experiment, monkeypatch, tmp_path):
    import iac_lib.cache.sweep as module

    calls = []

    def interrupt(*job):
        calls.append(job)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return measure(*job)

    measure = module.measure
    monkeypatch.setattr(module, "measure", interrupt)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        sweep(experiment, [LRU(), MIN()], [5000, 20_000], n_jobs=1)
    assert not list(tmp_path.iterdir())


def test_a_service_time_must_be_a_time(experiment):
    trace = experiment(0, 5.0)[1]
    bad = np.zeros(len(trace))
    bad[7] = np.nan
    with pytest.raises(ValueError, match=r"service_s\[7\]"):
        replay(trace, LRU(), 100, service_s=bad)


def test_differences_are_taken_run_by_run(table):
    worth = subtract(table, "lru", ["iac"])
    keys = ["capacity_tokens", "rate", "seed"]
    rates = table.set_index([*keys, "policy"])["hit_rate"].unstack()
    expected = (rates["iac"] - rates["lru"]).sort_index()
    assert np.allclose(worth.set_index(keys)["hit_rate"].sort_index(), expected)
    with pytest.raises(ValueError, match="same points"):
        subtract(table[(table["policy"] != "iac") | (table["seed"] == 3)], "lru", ["iac"])
