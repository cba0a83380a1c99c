"""Few-shot labelling: a language model reads a context and names one of the intents.

A reconstruction of the paper's last part of Step 1 (IAC, 4.1 and C.4): the intents with a
line each, how to choose, examples, then the conversation. The wording and the examples are
ours and follow the guidelines for labelling by hand. Knows no classifier and no back end.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from iac_lib.files import write_atomically
from iac_lib.intents.contexts import CONTEXT_QUERIES, show_context
from iac_lib.intents.labels import read_label
from iac_lib.intents.taxonomy import Taxonomy, load_taxonomy
from iac_lib.llm.answer import LLM, Answer, LLMError, NotAChoice
from iac_lib.llm.ask import run_all
from iac_lib.llm.usage import Metered

if TYPE_CHECKING:
    from iac_lib.traces.conversations import Conversations

ATTEMPTS = 3
MAX_TOKENS = 32

INSTRUCTIONS = """\
You sort requests to a chat assistant by intent. You are shown up to the last four queries of \
one user. Answer with the name of the one intent that the user mainly has with the last query; \
earlier queries are context.

Intents:
{intents}

How to choose:
- What is to be delivered decides, not the topic: a poem about tax law is creative_writing, a \
function that counts calories is code_generation.
- A last query that says nothing alone ("continue", "shorter", "and in French?") has the intent \
of what it carries on.
- Wording of a text at hand to be changed: writing_editing_proofreading. New material for it: \
the kind of text it is.
- New code or new behaviour: code_generation. Errors and wrong output: code_debugging. Installing, \
configuring, deploying: system_admin_devops.
- Set-ups of role play and prompts for image models: creative_writing. Text for customers, \
colleagues or the public: writing_business_marketing.
- Health, law, money, travel, food, partners and jobs go before how_to_guides and \
general_explanations_definitions.
- Write the name exactly as above and nothing else."""

EXAMPLES = (
    ("[turn 1] what's the difference between TCP and UDP", "general_explanations_definitions"),
    (
        "[turn 2] Write the opening scene of a heist film set on a lighthouse\n[turn 3] go on",
        "creative_writing",
    ),
    (
        "[turn 1] i need a bash one-liner that renames all jpegs in a folder by date",
        "code_generation",
    ),
    (
        "[turn 4] here is my class, add a method that exports to excel\n"
        "[turn 5] TypeError: 'NoneType' object is not iterable",
        "code_debugging",
    ),
    (
        "[turn 1] Dear Ms Okafor, i am writing for ask about the delay. Make this sound polite.",
        "writing_editing_proofreading",
    ),
    ("[turn 1] 10 slogans for a vegan bakery in Porto", "writing_business_marketing"),
    ("[turn 1] ¿Qué puedo cocinar con garbanzos y espinacas?", "food_cooking_recipes"),
    (
        "[turn 1] Make a quiz with 12 questions on the French Revolution for my tenth graders",
        "education_study_help",
    ),
)


@dataclass(frozen=True)
class Label:
    """One context's intent.

    Parameters
    ----------
    intent : str
    confidence : float
        Probability that the back end gives the answer; NaN if it gives none.
    attempts : int
        Answers it took.
    mended : bool
        Whether the answer had to be mended.
    probabilities : dict or None
        Of all intents, if the back end gives them.
    """

    intent: str
    confidence: float
    attempts: int
    mended: bool
    probabilities: dict[str, float] | None


@dataclass(frozen=True)
class Labelling:
    """Labels of many contexts.

    Parameters
    ----------
    labels : DataFrame
        ``conversation_id, turn, intent, confidence, attempts, mended, log_probabilities,
        problem``. Where no label was found, ``intent`` is missing and ``problem`` says why.
        ``log_probabilities`` holds float32[K] in the taxonomy's order, or nothing.
    card : dict
        How the labels were made, and counts.
    """

    labels: pd.DataFrame
    card: dict

    def write(self, path: str | Path) -> None:
        """Write the labels as Parquet and the card as JSON beside it."""
        path = Path(path)
        with write_atomically(path) as temporary:
            self.labels.to_parquet(temporary, index=False)
        with write_atomically(path.with_suffix(".json")) as temporary:
            temporary.write_text(json.dumps(self.card, indent=2) + "\n", encoding="utf-8")


def show_requests(conversations: Conversations, chosen: pd.DataFrame) -> pd.DataFrame:
    """Return the contexts of chosen requests as a model reads them.

    Parameters
    ----------
    conversations : Conversations
        With ``user_text``.
    chosen : DataFrame
        ``conversation_id, turn``.

    Returns
    -------
    DataFrame
        ``conversation_id, turn, text``, in the order of `chosen`.
    """
    wanted = set(chosen["conversation_id"])
    turns = conversations.turns
    turns = turns[turns["conversation_id"].isin(wanted)]
    queries = {
        name: group.tolist()
        for name, group in turns.groupby("conversation_id", sort=False)["user_text"]
    }
    texts = [
        show_context(queries[name][max(0, turn - CONTEXT_QUERIES) : turn], turn)
        for name, turn in zip(chosen["conversation_id"], chosen["turn"].astype(int), strict=True)
    ]
    return chosen[["conversation_id", "turn"]].assign(text=texts).reset_index(drop=True)


def write_instructions(taxonomy: Taxonomy) -> list[dict[str, str]]:
    """Return what precedes every context: the system prompt and the examples."""
    intents = "\n".join(
        f"- {name}: {description}"
        for name, description in zip(taxonomy.names, taxonomy.descriptions, strict=True)
    )
    messages = [{"role": "system", "content": INSTRUCTIONS.format(intents=intents)}]
    for text, intent in EXAMPLES:
        messages.append({"role": "user", "content": text})
        messages.append({"role": "assistant", "content": intent})
    return messages


def label_context(llm: LLM, text: str, taxonomy: Taxonomy, attempts: int = ATTEMPTS) -> Label:
    """Return the intent of one context.

    An answer that names no intent, or more than one, is shown to the model with what is wrong
    about it.

    Parameters
    ----------
    llm : LLM
    text : str
        As `iac_lib.intents.contexts.show_context` writes it.
    taxonomy : Taxonomy
        Of thirty intents.
    attempts : int
        Answers to ask for at most.

    Raises
    ------
    LLMError
        If no answer of all attempts names an intent.
    """
    messages = [*write_instructions(taxonomy), {"role": "user", "content": text}]
    for attempt in range(1, attempts + 1):
        try:
            answer = llm.complete(messages, max_tokens=MAX_TOKENS, choices=taxonomy.names)
        except NotAChoice as refusal:
            answer = refusal.answer
        if found := read_label(answer.text, taxonomy.names):
            return Label(
                found.name,
                find_confidence(answer),
                attempt,
                found.mended,
                complete_probabilities(answer, taxonomy),
            )
        messages = [*messages, *complain(answer)]
    raise LLMError(f"no intent in {attempts} answers, the last one {answer.text[:80]!r}")


def complain(answer: Answer) -> list[dict[str, str]]:
    """Return the answer and what is wrong with it, as the next two messages."""
    complaint = (
        "That is not the name of exactly one intent of the list. Answer with one name from the "
        "list, in lower case with underscores, and nothing else."
    )
    return [
        {"role": "assistant", "content": answer.text or "(nothing)"},
        {"role": "user", "content": complaint},
    ]


def find_confidence(answer: Answer) -> float:
    """Return the probability of the answer, NaN if the back end gave none."""
    return (answer.probabilities or {}).get(answer.text, float("nan"))


def complete_probabilities(answer: Answer, taxonomy: Taxonomy) -> dict[str, float] | None:
    """Return the probabilities of all intents, None unless the back end gave them all."""
    known = answer.probabilities or {}
    return known if set(known) >= set(taxonomy.names) else None


def label_contexts(
    llm: LLM, contexts: pd.DataFrame, workers: int = 8, attempts: int = ATTEMPTS
) -> Labelling:
    """Label many contexts with the thirty intents, several at a time.

    Parameters
    ----------
    llm : LLM
    contexts : DataFrame
        ``conversation_id, turn, text``, as `show_requests` returns it.
    workers : int
        Requests under way at a time.
    attempts : int
        Answers to ask for at most, for each context.

    Returns
    -------
    Labelling
        One row per context, in the same order. A context without a label does not stop the
        others.
    """
    taxonomy = load_taxonomy(30)
    metered = Metered(llm)
    found = run_all(
        lambda text: label_context(metered, text, taxonomy, attempts),
        contexts["text"].tolist(),
        workers,
        "labelling",
    )
    rows = [describe_label(label, taxonomy) for label in found]
    labels = pd.concat(
        [
            contexts[["conversation_id", "turn"]].reset_index(drop=True),
            pd.DataFrame(rows, columns=list(describe_label(LLMError(""), taxonomy))),
        ],
        axis=1,
    )
    card = {
        "model": llm.name,
        "prompt_sha256": hash_instructions(taxonomy),
        "taxonomy": list(taxonomy.names),
        "contexts": len(labels),
        "labelled": int(labels["intent"].notna().sum()),
        "failed": int(labels["intent"].isna().sum()),
        "mended": int(labels["mended"].sum()),
        "asked_again": int((labels["attempts"] > 1).sum()),
        **asdict(metered.usage),
    }
    return Labelling(labels, card)


def describe_label(label: Label | LLMError, taxonomy: Taxonomy) -> dict:
    """Return the row of a label, or of what went wrong."""
    if isinstance(label, LLMError):
        label, problem = Label(None, float("nan"), 0, False, None), str(label)
    else:
        problem = None
    logs = None
    if label.probabilities is not None:
        weights = np.array([label.probabilities[name] for name in taxonomy.names])
        logs = np.log(np.maximum(weights, np.finfo(np.float32).tiny)).astype(np.float32)
    return {
        "intent": label.intent,
        "confidence": label.confidence,
        "attempts": label.attempts,
        "mended": label.mended,
        "log_probabilities": logs,
        "problem": problem,
    }


def hash_instructions(taxonomy: Taxonomy) -> str:
    """Return the SHA-256 of everything a model is told before the context."""
    content = json.dumps(write_instructions(taxonomy), ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()
