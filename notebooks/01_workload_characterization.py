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
# # 01 · Workload characterization
#
# What does a chat server's cache see? How long conversations get, who comes back, and how soon.
# A cached prefix is worth keeping only if its conversation goes on, and goes on before the memory
# is needed for something else; everything the later notebooks do rests on these two questions.
#
# | made here | paper (IAC) | data in the profile `quick` |
# | --- | --- | --- |
# | `table02_datasets`, `fig01b_context` | Table 2, Fig. 1b | ShareGPT (part on PyPI), synthetic |
# | `fig02a_turns_by_intent` | Fig. 2a | ShareGPT with predicted intents; synthetic, both shapes |
# | `fig02b_delay_cdf`, `fig03_drift`, `fig10_delay_pdf` | Fig. 2b, 3, 10 | synthetic |
# | `fig_continuation`, `fig_input_shares` | not shown there | ShareGPT, synthetic |
# | `fig_lognormal_qq` | not shown there | synthetic |
#
# Under a minute on 2 cores, 1 GB of memory, no GPU. In the profile `traces` every figure is made
# again from logs with real delays (RAGPulse, RealHumanEval, Claude-Code).

# %% tags=["parameters"]
PROFILE = "quick"
CONVERSATIONS = 200_000
SEED = 0
SHAREGPT_JSON = None

# %%
from importlib.metadata import version

for package in ("iac-lib", "numpy", "scipy", "pandas", "matplotlib"):
    print(f"{package:12} {version(package)}")

# %%
import pandas as pd

from iac_lib.figures.style import save, use_style
from iac_lib.figures.tables import save_table
from iac_lib.intents.predicted import label_if_predicted
from iac_lib.traces.describe import summarise_turns, turn_table
from iac_lib.traces.inventory import make_synthetic, read_chats, read_timed

use_style()
pd.options.display.float_format = "{:,.3f}".format

# %% [markdown]
# ## Three kinds of data
#
# *Chats* are what people typed, without times. *Synthetic* chats are drawn from a model: thirty
# intents that go on and wait differently, calibrated to the published mean turns and lengths.
# *Timed* logs have real delays.

# %%
chats = {
    name: label_if_predicted(chat) for name, chat in read_chats(PROFILE, SHAREGPT_JSON).items()
}
synthetic = make_synthetic(CONVERSATIONS, SEED)
timed = read_timed(PROFILE)
if not timed:
    print("no timed logs: for real delays, run the profile `traces` with IAC_DATA set")

# %% [markdown]
# Everything below is read off one table per source, with a row for every request: its turn, its
# whole input, whether a follow-up came, and after how many seconds.

# %%
sources = chats | synthetic | timed
tables = {name: turn_table(data) for name, data in sources.items()}
SOURCES = ", ".join(sources)
tables["synthetic wildchat-shaped"].drop(columns="request_type").head()

# %% [markdown]
# One helper, used throughout: the same description of several sources, stacked.


# %%
def stack(describe, names=tables):
    parts = [describe(tables[name]).assign(source=name) for name in names]
    return pd.concat(parts, ignore_index=True)


# %% [markdown]
# ## Table 2: the data sets
#
# `multi_turn` is the share of conversations with a second turn. The length of a conversation is its
# context at its longest, last answer included.

# %%
summary = pd.DataFrame({name: summarise_turns(table) for name, table in tables.items()}).T
summary = summary.infer_objects()
summary

# %% [markdown]
# Now beside the paper. Our ShareGPT is the first part of the data set, in its original order; the
# two synthetic workloads stand beside the data they imitate, and under their own names.

# %%
from pathlib import Path

import yaml

reported = yaml.safe_load(Path("../data/paper/reported.yaml").read_text(encoding="utf-8"))
paper = pd.DataFrame(reported["iac"]["datasets"]).T.add_prefix("paper_")
paper

# %%
from iac_lib.intents.predicted import label_if_predicted
from iac_lib.traces.inventory import stands_for

table2 = summary.loc[[*chats, *synthetic]].rename_axis("source").reset_index()
table2.insert(1, "paper_data_set", table2["source"].map(stands_for))
table2 = table2.join(paper, on="paper_data_set")
save_table("table02_datasets", table2, f"{', '.join([*chats, *synthetic])}; paper_*: IAC, Table 2")
table2.set_index("source").T

# %% [markdown]
# ### What the paper counted
#
# The synthetic rows agree because they were calibrated to. ShareGPT is the test, and it does not:
# our conversations have many more turns. The data set on the web is cut into *pieces* (`X_0, X_1,
# ...`) of one conversation `X`; we join them, since the user of `X_1` carries on with `X_0`. Count
# the pieces instead:

# %%
from collections import Counter

from iac_lib.traces.sharegpt import find_packaged, read_records

path = find_packaged() if SHAREGPT_JSON is None else Path(SHAREGPT_JSON)
pieces = sum(1 for _ in read_records(path, Counter()))

# %%
ours, theirs = summary.loc[next(iter(chats))], reported["iac"]["datasets"]["sharegpt"]
print(f"turns per piece        {ours['requests'] / pieces:8.2f}")
print(f"turns per conversation {ours['turns']:8.2f}   paper {theirs['avg_turns']}")
print(f"tokens per turn        {ours['tokens_per_turn']:8.0f}   paper {theirs['avg_length']}")
print(f"tokens per conversation{ours['tokens_per_conversation']:8.0f}")

# %% [markdown]
# The paper's mean turns are close to turns per *piece*, and its mean length is close to tokens per
# *turn*, a query and its answer. Both matter to a cache. Whoever takes pieces for conversations
# throws away the longest prefixes, which are those most worth caching. And if the lengths of the
# other rows of Table 2 are per turn too, their conversations are several times longer than the
# table suggests. The synthetic workloads take the published length *per conversation* all the
# same: with lengths per turn, the paper's hit rates would exceed what any cache could reach at its
# capacities (the docstring of `iac_lib.traces.synthetic` has the numbers).

# %% [markdown]
# ## Fig. 1b: the context grows
#
# Each request repeats everything said before it. Both axes are logarithmic: a line that climbs one
# step up for one step right grows in proportion to the turn.

# %%
from iac_lib.figures.characterize import plot_context
from iac_lib.traces.describe import context_by_turn

context = stack(context_by_turn)
save(plot_context(context), "fig01b_context", context, SOURCES)

# %%
context.pivot(index="source", columns="turn", values="mean").loc[list(sources)].round(0)

# %% [markdown]
# The first steps are the steepest, because the first request has no answer in it yet; later ones
# come closer and closer to growth in proportion to the turn. For a cache this
# means that entries differ in size by more than an order of magnitude, and that the largest belong
# to the conversations that have already gone on longest. A policy that evicts large entries first
# throws out exactly those.

# %% [markdown]
# ## Does anyone come back?
#
# The paper gives mean turns only. A policy needs the probability of a follow-up *at each turn*.

# %%
from iac_lib.figures.characterize import plot_continuation
from iac_lib.traces.describe import continuation_by_turn

continuation = stack(continuation_by_turn)
save(plot_continuation(continuation), "fig_continuation", continuation, SOURCES)

# %%
by_turn = continuation.pivot(index="source", columns="turn", values="continuation")
by_turn[[1, 2, 3, 5, 10]].loc[list(sources)]

# %% [markdown]
# Who stays, stays on: the curve rises over the first turns and flattens. So the turn tells a policy
# a first request from a deep one, but hardly one deep request from another; to see that a long
# conversation is about to end, it needs something else.
#
# One caution: ShareGPT holds conversations that someone thought worth sharing. A server's own log
# has more that end at once, as the synthetic workload with WildChat's means shows.

# %% [markdown]
# ## How much could a cache save at all?
#
# A cache that never evicts finds all of the input that it has seen before. Its hit rate is the
# upper bound of every policy at every capacity. Chats are cut at 8,192 tokens, the context of the
# model that the notebook on hit rates replays them for; timed logs are taken as they were served.

# %%
from iac_lib.figures.characterize import plot_input_shares
from iac_lib.traces.arrivals import limit_context
from iac_lib.traces.sharing import input_shares
from iac_lib.traces.sources import MAX_CONTEXT_TOKENS

served = {n: limit_context(chat, MAX_CONTEXT_TOKENS) for n, chat in (chats | synthetic).items()}
shares = pd.DataFrame([input_shares(data) for data in (served | timed).values()])
shares.insert(0, "source", list(sources))
save(plot_input_shares(shares), "fig_input_shares", shares, SOURCES)

# %%
uncut = {name: 1 - input_shares(data)["new"] for name, data in sources.items()}
bound = shares.set_index("source")[["own", "others"]].sum(axis=1)
100 * pd.DataFrame({"bound (%)": bound, "without the cut": uncut}).loc[list(sources)]

# %% [markdown]
# What people type is small beside the history that is sent along, so a server without a prefix
# cache spends most of its prefill on text that it has read before. When the notebooks on policies
# report hit rates far below this bound, the reason is room and timing, not a lack of reuse.
#
# That holds for prompts that *begin* with the history. An assistant that puts retrieved passages in
# front of it (RAGPulse, in the profile `traces`) breaks its own prefix at every turn. No eviction
# policy can mend that; the order of the prompt can.

# %% [markdown]
# ## Intents
#
# ShareGPT's intents are those that the classifier of notebook 03 predicts; WildChat and ShareChat
# cannot be shipped. Synthetic conversations stand in for them. Read these as *the structure that
# the paper describes, made concrete*: they were built to have it, so they are no evidence that
# real users do.
#
# ### Fig. 2a: some intents go on longer

# %%
from iac_lib.figures.characterize import plot_turns_by_intent
from iac_lib.traces.describe import turns_by_intent

labelled = [name for name in (*synthetic, *chats) if tables[name]["intent"].notna().any()]
intents = stack(turns_by_intent, labelled)
SHOWN_IN = ", ".join(f"{n} (predicted intents)" if n in chats else n for n in labelled)
save(plot_turns_by_intent(intents), "fig02a_turns_by_intent", intents, SHOWN_IN)

# %%
extremes = intents[intents["source"] == labelled[-1]]
pd.concat([extremes.head(3), extremes.tail(3)])

# %% [markdown]
# On real conversations the ends of the list are what the paper reports: mending code and inventing
# stories go on, small talk and everyday advice end soon. (One caution: the classifier reads the turn
# as part of its text, so it may have learned that deep turns are more often code.)
#
# The two ends are what an intent-aware policy lives on: for the same memory, a prefix from the top
# of the list returns much more often than one from the bottom. Most intents lie in a narrow band
# in the middle, where knowing the intent buys little.

# %% [markdown]
# ### Fig. 2b: some intents wait longer
#
# ShareGPT has no times: from here to the fits, data are synthetic.
#
# The curves count all follow-ups, also those after 600 s; where a curve ends on the right is the
# share that has arrived by then.

# %%
from iac_lib.figures.delays import plot_delay_cdf
from iac_lib.reuse.delays import curves_by, delay_cdf

WILDCHAT = "synthetic wildchat-shaped"
SHOWN = ["chitchat", "code_generation", "creative_writing"]
three = tables[WILDCHAT].dropna(subset="delay_s").sort_values("turn")
three["intent"] = three["intent"].cat.set_categories(SHOWN)
three = three.dropna(subset="intent").sort_values("intent", kind="stable")
first_and_fifth = three[three["turn"].isin([1, 5])]

# %%
cdf = curves_by(first_and_fifth, ["intent", "turn"], delay_cdf)
save(plot_delay_cdf(cdf), "fig02b_delay_cdf", cdf, WILDCHAT)

# %%
from iac_lib.reuse.delays import delay_quantiles

delay_quantiles(first_and_fifth, ["intent", "turn"]).drop(columns=["p25_s", "p75_s"])

# %% [markdown]
# Compare the medians. An entry whose median delay has passed without a follow-up is a good
# victim, and when that is depends on the intent first and on the turn second. This median is IAC's
# *reuse window*.

# %% [markdown]
# ### Fig. 3: behaviour drifts over the day

# %%
from iac_lib.figures.characterize import plot_drift
from iac_lib.traces.describe import behaviour_by_hour

hours = behaviour_by_hour(tables[WILDCHAT])
hours = hours[hours["intent"].isin(SHOWN)]
save(plot_drift(hours, SHOWN), "fig03_drift", hours, WILDCHAT)

# %%
hours.groupby("intent", observed=True)[["turns", "median_delay_s"]].agg(["min", "max"])

# %%
median = hours.pivot(index="hour", columns="intent", values="median_delay_s")
slower = (median["creative_writing"] > median["code_generation"]).sum()
print(f"in {slower} of 24 hours creative_writing waits longer than code_generation")

# %% [markdown]
# Levels move by much, and even the order of two intents may change. Statistics learned at one hour
# misjudge another; a rolling window over the last conversations follows. (The clock of a log starts
# with its first request.)

# %% [markdown]
# ### Fig. 10: densities, finer and finer

# %%
from iac_lib.figures.delays import plot_delay_pdf
from iac_lib.reuse.delays import delay_pdf

ends = tables[WILDCHAT].loc[lambda t: t["turn"].isin([1, 5])].sort_values("turn")
panels = {
    "all requests": delay_pdf(tables[WILDCHAT]["delay_s"].to_numpy()),
    "by turn": curves_by(ends, ["turn"], delay_pdf),
    "by intent": curves_by(three, ["intent"], delay_pdf),
    "by intent and turn": curves_by(first_and_fifth, ["intent", "turn"], delay_pdf),
}

# %%
curves = pd.concat([curve.assign(panel=title) for title, curve in panels.items()])
save(plot_delay_pdf(panels), "fig10_delay_pdf", curves, WILDCHAT)

# %% [markdown]
# Panel (a) is what a policy knows that looks at nothing. The turn alone (b) hardly splits it; the
# intent (c) does, and the turn within an intent (d) refines it, as the paper reports for WildChat.

# %% [markdown]
# ## Is the delay log-normal?
#
# IAC fits a log-normal to the delays of each (intent, turn) and takes its median as the reuse
# window. A QQ plot shows where a fit fails: points on the line agree. KS is the largest distance
# between the two distribution functions, R² the agreement of the quantiles on the log scale. The
# table has two rows per source: all delays, and those up to 30 minutes, after which IAC counts a
# conversation as complete.

# %%
from iac_lib.reuse.delays import fit_lognormal, qq_points

with_delays = [name for name in [*timed, *synthetic] if tables[name]["delay_s"].notna().any()]
delays = {name: tables[name]["delay_s"].to_numpy() for name in with_delays}
limits = {"all": float("inf"), "up to 30 min": 1800.0}
fits = pd.DataFrame(
    {"source": name, "which": which, **vars(fit_lognormal(x[x <= limit]))}
    for name, x in delays.items()
    for which, limit in limits.items()
)
fits

# %%
from iac_lib.figures.delays import plot_qq

points = pd.concat([qq_points(x).assign(source=name) for name, x in delays.items()])
save(
    plot_qq(points, fits[fits["which"] == "all"]),
    "fig_lognormal_qq",
    points,
    ", ".join(with_delays),
)

# %% [markdown]
# SAECache reports how well log-normals fit real intervals:

# %%
bounds = reported["saecache"]["lognormal_fit"]
print(f"reported on real traces: R2 at least {bounds['r2_min']}, KS at most {bounds['ks_max']}")
within = fits[(fits["r2"] >= bounds["r2_min"]) & (fits["ks"] <= bounds["ks_max"])]
print("within both here:", "; ".join(within["source"] + ", " + within["which"]) or "none")

# %% [markdown]
# Synthetic delays are a *mixture* of log-normals with different medians, one for each intent, turn
# and hour, and still fit a single one well. So a good fit of the pooled delays does not show that
# one distribution describes all users; it would look the same if intents differed.

# %% [markdown]
# ## Real delays
#
# In the profile `traces`: the same questions to logs with real times. Their conversations carry no
# intents, so delays are grouped by turn, and by request type where the log has one.

# %%
from IPython.display import display

SKIP = "skipped: real delays need the profile `traces` and IAC_DATA (see `make doctor`)"
if timed:
    display(stack(lambda table: delay_quantiles(table[table["turn"] <= 5]), timed))
else:
    print(SKIP)

# %%
if timed:
    display(stack(lambda table: delay_quantiles(table, "request_type"), timed))
else:
    print(SKIP)

# %%
from iac_lib.figures.delays import plot_source_cdf

if timed:
    real = pd.concat([delay_cdf(delays[name]).assign(source=name) for name in delays])
    save(plot_source_cdf(real), "fig02b_delay_cdf_by_source", real, ", ".join(delays))
else:
    print(SKIP)

# %%
from functools import partial

real_panels, first_5_min = {}, partial(delay_pdf, limit_s=300)
for name in timed:
    turns = tables[name].loc[lambda t: t["turn"].isin([1, 2, 5])].sort_values("turn")
    real_panels[f"{name}, all"] = first_5_min(delays[name])
    real_panels[f"{name}, by turn"] = curves_by(turns, ["turn"], first_5_min)

# %%
if timed:
    curves = pd.concat([curve.assign(panel=title) for title, curve in real_panels.items()])
    save(plot_delay_pdf(real_panels), "fig10_delay_pdf_real", curves, ", ".join(timed))
else:
    print(SKIP)

# %% [markdown]
# RAGPulse runs for a week, long enough for a day of its own (Fig. 3, by request type). Hours with
# too few conversations or delays are left out.

# %%
if "ragpulse" in timed:
    of_day = behaviour_by_hour(tables["ragpulse"], "request_type")
    save(
        plot_drift(of_day, ["rag", "plain"], "request_type"), "fig03_drift_real", of_day, "ragpulse"
    )
else:
    print(SKIP)

# %% [markdown]
# Three things to look for. Does the turn split the delays of real users more than those of the
# synthetic ones? Do agents, who wait for a tool and not for a person, come back within seconds?
# And is the share beyond 30 minutes, where IAC counts a conversation as complete, small?

# %% [markdown]
# ## What to take along
#
# * Almost all input of a chat is history: the reuse is there.
# * From turn 2 on, most requests of these chats have a follow-up; the first turn is the filter.
# * Entries grow with every turn, so the most reusable ones are also the largest.
# * When the follow-up comes varies over orders of magnitude. Whatever narrows that down (intent,
#   turn, who asks) is worth memory.
# * A data set's table may count pieces for conversations: look before you compare.
#
# [04_eviction_policies](04_eviction_policies.ipynb) shows what the policies make of it.
