# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 05 · Cache hit rate
#
# How much of their input do servers not have to read again, under which policy, and how much
# could anyone save? This notebook makes the hit-rate figures and tables of the IAC paper:
#
# | made here | paper | data in the profile `quick` |
# | --- | --- | --- |
# | `fig06b_rates`, `fig06b_capacity`, `table_sharegpt`, `intent_value` | Fig. 6b | ShareGPT (the part on PyPI) with predicted intents, synthetic arrivals |
# | `fig01c_oracles`, `fig06a_capacity`, `fig12a_with_wa` | Fig. 1c, 6a, 12a | synthetic |
# | `fig08a_ablation`, `fig08b_granularity`, `fig08c_label_noise` | Fig. 8 | ShareGPT with predicted intents, synthetic |
# | `fig09_window` | Fig. 9 | synthetic |
# | `fig11_wa`, `fig13_rates` | Fig. 11, 13 | synthetic (Fig. 11 in `traces`: RAGPulse) |
# | `table04_rolling` … `table07_constant_delay`, `table09_per_request` | Tables 4-7, 9 | synthetic |
# | `real_delays` | ours | only in `traces`: RAGPulse, Claude-Code, Mooncake |
#
# About 3 minutes on 2 cores, 2 GB of memory, no GPU; sliders at the end. In the profile `paper` the same cells run on
# WildChat, ShareChat, LMSys-Chat and the whole of ShareGPT.

# %% tags=["parameters"]
PROFILE = "quick"
SEEDS = 5
SHAREGPT_JSON = None  # the whole ShareGPT; the paper profile needs it
PREDICTED = (
    None  # its predicted intents, from `python -m iac_lib.learn --sharegpt`; None: those that ship
)
TYPED_CAPACITIES = [80_000, 120_000, 160_000, 200_000]

# %%
from importlib.metadata import version

for package in ("iac-lib", "numpy", "numba", "pandas", "matplotlib"):
    print(f"{package:12} {version(package)}")

# %%
import pandas as pd

from iac_lib.cache.sweep import summarise, sweep
from iac_lib.figures.curves import plot_bars, plot_curves
from iac_lib.figures.style import save, use_style
from iac_lib.policies.lineup import NO_INTENT, online_policies, oracles

use_style()
pd.options.display.float_format = "{:.4g}".format

# %% [markdown]
# ## The headline: real conversations
#
# ShareGPT has no times, so the paper gives it some: new conversations arrive as a Poisson process,
# and every user waits a log-normal time (log-mean 4.6, variance 1, so 100 s in the median) before
# each follow-up. The first half of the conversations is history, from which policies learn; the
# second half is replayed. A context ends at 8,192 tokens, as with Llama-3-70B.

# %%
from iac_lib.intents.predicted import label_experiment
from iac_lib.traces.sources import sharegpt_experiment

sharegpt = label_experiment(sharegpt_experiment(PROFILE, SHAREGPT_JSON), PREDICTED)
history, trace = sharegpt(seed=0, rate=5.0)
SHAREGPT = trace.name
print(f"{SHAREGPT}: {len(history):,} requests to learn from, {len(trace):,} to replay")

# %% [markdown]
# Every request carries the intent that the classifier of notebook 03 predicts from its last four
# queries, and the probability of a follow-up that LPC's predictor gives it. Both learned from the
# first half. *LPC (by turn)* knows only how often each turn is followed.
#
# A sweep replays every policy at every point, for several seeds of the arrivals.

# %%
from iac_lib.intents.predicted import score_follow_ups
from iac_lib.policies.lineup import learned_lpc

policies = [*online_policies(), learned_lpc(score_follow_ups(PREDICTED)), *oracles()]
by_rate = sweep(sharegpt, policies, [150_000], seeds=range(SEEDS), rates=[1, 2, 3, 5, 7, 10])
rates = summarise(by_rate, ["policy", "rate"]).assign(workload=SHAREGPT)

# %%
fig = plot_curves(rates, "rate")
save(fig, "fig06b_rates", rates, SHAREGPT)

# %% [markdown]
# Two gaps stand out. The one between LRU and the best online policy is what statistics buy. The
# other, between any online policy and the optimum, is several times larger: it is the price of not
# knowing *when* the next turn comes. TB and TB+S stand here with the best threshold that a sweep
# finds at each point; where they are below MIN, *soon or not* and size say less than the time itself.

# %%
capacities = [40_000, 80_000, 110_000, 150_000, 200_000, 300_000]
by_capacity = sweep(sharegpt, policies, capacities, seeds=range(SEEDS))
curves = summarise(by_capacity, ["policy", "capacity_tokens"])
fig = plot_curves(curves, "capacity_tokens")
save(fig, "fig06b_capacity", curves.assign(workload=SHAREGPT), SHAREGPT)

# %% [markdown]
# ### The table at 150K tokens and 5 conversations per second
#
# `gap closed` is the share of the way from LRU to the optimum.

# %%
from iac_lib.cache.sweep import close_gap

at_150k = by_capacity[by_capacity["capacity_tokens"] == 150_000]
table = close_gap(summarise(at_150k, ["policy"])).sort_values("mean")
table

# %%
fig = plot_bars(table)
save(fig, "table_sharegpt", table, SHAREGPT)

# %%
from iac_lib.claims import name_orderings

for sentence in name_orderings(table):
    print(sentence)

# %% [markdown]
# ### What is the intent worth here?
#
# The same policy with predicted intents, without intent, and with labels drawn at random, in the
# history as in the replay. Differences are taken seed by seed, so that luck with the arrivals
# cancels out.

# %%
from iac_lib.cache.sweep import subtract
from iac_lib.intents.noise import mislabel
from iac_lib.policies import IAC

shuffled = sweep(
    mislabel(sharegpt, 1), [IAC(name="iac-random")], capacities, seeds=range(SEEDS), bound=False
)
runs = pd.concat([by_capacity, shuffled])
worth = subtract(runs, "iac-no-intent", ["iac", "iac-random", "lpc"])
value = summarise(worth, ["policy", "capacity_tokens"])

# %%
from iac_lib.figures.curves import plot_differences

fig = plot_differences(value, "capacity_tokens", baseline="IAC without intent")
save(fig, "intent_value", value, f"{SHAREGPT}, predicted intents")

# %% [markdown]
# Random labels cost something: thirty groups for every turn leave few conversations to each.
# Predicted ones have to earn that back first. On ShareGPT all users wait alike, by construction, so
# an intent can tell only *whether* a follow-up comes, and the turn tells most of that already.

# %% [markdown]
# ## Delays that differ by intent
#
# WildChat and ShareChat cannot be shipped. In their place stand two synthetic workloads with the
# structure that the paper describes: 30 intents, each with its own follow-up probability and
# delays, drifting over the day, calibrated to the published means. They show *that* a mechanism
# works and how much structure it needs; they are no evidence about real users.

# %%
from iac_lib.traces.sources import timed_experiments

timed = timed_experiments(PROFILE)
WILDCHAT, SHARECHAT = timed
CAPACITIES = [80_000, 110_000, 140_000, 170_000]

# %%
results = [
    sweep(experiment, online_policies() + oracles(), CAPACITIES, seeds=range(SEEDS))
    for experiment in timed.values()
]
both = pd.concat(results).rename(columns={"data": "workload"})
main = summarise(both, ["workload", "policy", "capacity_tokens"])
SOURCE = f"{WILDCHAT}, {SHARECHAT}"

# %% [markdown]
# ### Fig. 6a: every capacity

# %%
shown = ["optimum", "tb+s", "iac", "lpc-by-turn", "gdsf", "lru", "lfu"]
fig = plot_curves(main[main["policy"].isin(shown)], "capacity_tokens", panels="workload")
save(fig, "fig06a_capacity", main, SOURCE)

# %% [markdown]
# ### Fig. 1c: online policies against the oracles

# %%
shown = ["optimum", "min", "tb+s", "tb", "lpc-by-turn", "gdsf", "lru", "lfu"]
oracle_view = main[(main["workload"] == WILDCHAT) & main["policy"].isin(shown)]
fig = plot_curves(oracle_view, "capacity_tokens")
save(fig, "fig01c_oracles", oracle_view, WILDCHAT)

# %% [markdown]
# The paper ranks TB+S first among its oracles, above MIN. Compare them here. The optimum may also
# keep a part of a node or refuse one; nothing can be above it. These are the thresholds that the
# sweep chose, the commonest over seeds:

# %%
swept = both[both["policy"].isin(["tb", "tb+s"])]
swept.groupby(["workload", "policy", "capacity_tokens"])["setting"].agg(lambda s: s.mode()[0])

# %% [markdown]
# ### Fig. 12a: with WA
#
# Chat requests are all of one type, so WA can only tell turns apart.

# %%
shown = ["tb+s", "iac", "wa", "lpc-by-turn", "gdsf", "lru", "lfu"]
with_wa = main[(main["workload"] == SHARECHAT) & main["policy"].isin(shown)]
fig = plot_curves(with_wa, "capacity_tokens")
save(fig, "fig12a_with_wa", with_wa, SHARECHAT)

# %% [markdown]
# ## What IAC is made of
#
# ### Fig. 8a: signals, their order, and intent

# %%
from iac_lib.policies.lineup import ablations

labelled = {SHAREGPT: sharegpt, SHARECHAT: timed[SHARECHAT]}
BOTH = f"{SHAREGPT} with predicted intents, {SHARECHAT}"


def sweep_labelled(policies, capacities, name=lambda experiment: experiment):
    runs = [
        sweep(name(experiment), policies, capacities, seeds=range(SEEDS), bound=False)
        for experiment in labelled.values()
    ]
    return pd.concat(runs).rename(columns={"data": "workload"})


# %%
parts = summarise(
    sweep_labelled(ablations(), CAPACITIES), ["workload", "policy", "capacity_tokens"]
)
fig = plot_curves(parts, "capacity_tokens", panels="workload")
save(fig, "fig08a_ablation", parts, BOTH)

# %% [markdown]
# ### Fig. 8b: 30, 20 or 10 intents
#
# On ShareGPT the intents are predicted, and the classifier's accuracy on the unseen third of the
# gold set stands beside the hit rate. On synthetic data they are the true ones of the generator.

# %%
from iac_lib.intents.comparison import score_classifier
from iac_lib.policies.lineup import granularities

merged = sweep_labelled(granularities(), [170_000])
classes = summarise(merged, ["workload", "policy"])
classes["classes"] = classes["policy"].str.extract(r"(\d+)").astype(int)
accuracy = score_classifier().set_index("classes")["accuracy"]
predicted = classes["workload"] == SHAREGPT
classes["accuracy"] = classes["classes"].map(accuracy).where(predicted)
fig = plot_bars(classes, group="workload")
save(fig, "fig08b_granularity", classes, BOTH)

# %%
classes[predicted][["classes", "accuracy", "mean", "low", "high"]]

# %% [markdown]
# ### Fig. 8c: wrong labels
#
# A share of all requests, in the history as in the replay, gets a random intent.

# %%
from functools import partial

from iac_lib.policies import LRU

noisy = [
    sweep_labelled([LRU(), IAC()], [170_000], partial(mislabel, share=share)).assign(
        random_share=share
    )
    for share in (0, 0.25, 0.5, 0.75, 1)
]
noise = summarise(pd.concat(noisy), ["workload", "policy", "random_share"])

# %%
fig = plot_curves(noise, "random_share", panels="workload", xlabel="random labels (share)")
save(fig, "fig08c_label_noise", noise, BOTH)

# %% [markdown]
# ### Fig. 9: which estimate of the window

# %%
from iac_lib.policies.lineup import window_estimators

windows = sweep(timed[SHARECHAT], window_estimators(), CAPACITIES, seeds=range(SEEDS), bound=False)
estimators = summarise(windows, ["policy", "capacity_tokens"])
fig = plot_curves(estimators, "capacity_tokens")
save(fig, "fig09_window", estimators, SHARECHAT)

# %% [markdown]
# ### Table 5: a binary window or the whole delay distribution

# %%
from iac_lib.figures.tables import save_table, set_beside

horizon = main[(main["workload"] == SHARECHAT) & main["policy"].isin(["iac", "full-horizon"])]
save_table("table05_full_horizon", horizon, SHARECHAT)
set_beside(horizon, "capacity_tokens")

# %% [markdown]
# ## Over time, and under other arrivals
#
# ### Table 4: learning from the fold before

# %%
from iac_lib.cache.rolling import replay_folds

folds = pd.concat(
    replay_folds(timed[WILDCHAT].read(seed), [LRU(), IAC()], 140_000, seed=seed)
    for seed in range(SEEDS)
)
rolling = summarise(folds, ["fold", "policy"])
update_s = folds.update_s[folds.policy == "iac"].median()
print("one update of the statistics takes less than 0.1 s:", update_s < 0.1, "(the paper: 1.4 s)")

# %%
save_table("table04_rolling", rolling, WILDCHAT)
set_beside(rolling, "fold")

# %% [markdown]
# ### Table 6: bursts, heavy tails, and a day squeezed into the replay

# %%
from iac_lib.traces.sources import arrival_patterns

patterns = []
for pattern, experiment in arrival_patterns(timed[WILDCHAT]).items():
    runs = sweep(experiment, [LRU(), IAC(), *oracles()], [140_000], seeds=range(SEEDS))
    patterns.append(runs.assign(pattern=pattern))
arrivals = summarise(pd.concat(patterns), ["pattern", "policy"])

# %%
save_table("table06_arrivals", arrivals, WILDCHAT)
set_beside(arrivals, "pattern")

# %% [markdown]
# ### Table 7: every delay the same

# %%
from dataclasses import replace

from iac_lib.traces.arrivals import ConstantDelays

constant = replace(timed[WILDCHAT], delays=ConstantDelays(100))
runs = sweep(constant, [LRU(), IAC(), NO_INTENT, *oracles()], CAPACITIES, seeds=range(SEEDS))
same = summarise(runs, ["policy", "capacity_tokens"])
save_table("table07_constant_delay", same, WILDCHAT)
set_beside(same, "capacity_tokens")

# %% [markdown]
# ### Table 9: who gets the hits
#
# 16 requests per second; the ratio is per request, `overall` per token.

# %%
from iac_lib.cache.percentiles import measure_percentiles
from iac_lib.policies import LPC, TBS

history, trace = timed[SHARECHAT](seed=0, rate=16 / timed[SHARECHAT].mean_turns(0))
fitted = [policy.fit(history) for policy in (LRU(), LPC(), IAC(), TBS())]
per_request = measure_percentiles(trace, fitted, 170_000)
save_table("table09_per_request", per_request, SHARECHAT)
per_request

# %% [markdown]
# ## Rivals on their own ground
#
# ### Fig. 11: WA and IAC* with the same request types
#
# WA was made for requests that carry a type. IAC* uses those types in place of intents, so both
# group requests identically. In the profile `quick` the types are the ten merged intents of the
# synthetic workload; in `traces` they are RAGPulse's own.

# %%
from iac_lib.intents.taxonomy import name_groups
from iac_lib.policies import WA
from iac_lib.traces.sources import typed_experiment

typed = typed_experiment(PROFILE, name_groups(10))
rivals = [LRU(), WA(), IAC(name="iac*")]
runs = sweep(typed, rivals, TYPED_CAPACITIES, seeds=range(SEEDS))
types = summarise(runs, ["policy", "capacity_tokens"])
TYPED = runs["data"].iloc[0]

# %%
fig = plot_curves(types[types["policy"] != "optimum"], "capacity_tokens")
save(fig, "fig11_wa", types, TYPED)

# %% [markdown]
# ### Fig. 13: short chats under one delay distribution

# %%
from iac_lib.traces.sources import lmsys_experiment

lmsys = lmsys_experiment(PROFILE)
rivals = [*online_policies(), TBS()]
runs = sweep(lmsys, rivals, [150_000], seeds=range(SEEDS), rates=[3, 5, 10])
short = summarise(runs.rename(columns={"data": "workload"}), ["workload", "policy", "rate"])
LMSYS = short["workload"].iloc[0]

# %%
shown = ["optimum", "tb+s", "iac", "iac-no-intent", "lpc-by-turn", "gdsf", "lru", "lfu"]
fig = plot_curves(short[short["policy"].isin(shown)], "rate")
save(fig, "fig13_rates", short, LMSYS)

# %% [markdown]
# ## Real delays
#
# With the profile `traces`, every policy meets traces whose times are real: RAGPulse (a chat
# assistant with retrieval), Claude-Code (coding agents) and Mooncake (a chat service; it does not
# say which requests belong together, so there is nothing to learn by turn). The first half of the
# conversations is history. Capacity is a share of all distinct tokens of the replayed half.

# %%
from iac_lib.traces.sources import real_traces, replay_second_half

SHARES = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3]
runs = []
for name, real in real_traces().items() if PROFILE == "traces" else ():
    workload = replay_second_half(real)
    tokens = workload(0, 0)[1].segments.tokens.sum()
    sizes = [int(share * tokens) for share in SHARES]
    run = sweep(workload, online_policies(labelled=False) + oracles(), sizes)
    runs.append(run.assign(workload=name, share=run["capacity_tokens"] / tokens))

# %%
if runs:
    measured = summarise(pd.concat(runs), ["workload", "policy", "share"])
    label = "capacity / distinct tokens"
    fig = plot_curves(measured, "share", panels="workload", xlabel=label, log_x=True)
    save(fig, "real_delays", measured, ", ".join(measured["workload"].unique()))
else:
    print("skipped: needs the profile `traces` and IAC_DATA (see `make doctor`)")

# %% [markdown]
# ## What if?
#
# Move a slider: both traces are replayed anew under LRU, IAC and the optimum while you drag. Dashed
# lines stay where you started.

# %%
from iac_lib.cache.whatif import make_benches
from iac_lib.figures.whatif import WhatIf

panel = WhatIf(make_benches(PROFILE, SHAREGPT_JSON))
panel

# %% [markdown]
# Without a running kernel there are no sliders; this is where they start:

# %%
from IPython.display import Image

print(panel.label.value)
Image(panel.image.value)
