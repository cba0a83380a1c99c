"""Intent discovery with a language model, after TnT-LLM (Wan et al. 2024; IAC, 4.1, Step 1).

Every request is summarised. Minibatches of summaries are sorted into the classes there are;
what fits none is shown to the model, which adds classes. The first minibatch is shown whole,
with seven seed classes. At the end the model reviews the list and merges what means the same,
rare classes are dropped, and every request gets its final class.

A reconstruction: the paper gives the steps, not the prompts, batch sizes or thresholds.
Every question follows from the answers before it and from the seed, so that a model whose
answers are kept (`iac_lib.llm.recorded`) makes a run repeatable, and a killed one goes on
where it was. Knows no taxonomy of thirty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import pandas as pd
import yaml

from iac_lib.intents.class_lists import (
    ClassListError,
    IntentClass,
    read_classes,
    write_classes,
)
from iac_lib.intents.labels import read_label
from iac_lib.llm.answer import LLM, LLMError, NotAChoice
from iac_lib.llm.ask import run_all
from iac_lib.llm.usage import Metered, Usage

NONE = "none_of_these"
STEPS = ("summarise", "assign", "generate", "update", "review")
SUMMARY_TOKENS, LIST_TOKENS, NAME_TOKENS = 60, 4096, 32


@dataclass(frozen=True)
class Settings:
    """How discovery proceeds.

    Parameters
    ----------
    batch : int
        Requests in a minibatch.
    most : int
        Classes at most, before the review and after it.
    added : int
        New classes a minibatch may bring at most.
    rarest : float
        Classes with a smaller share of the requests are dropped at the end.
    attempts : int
        Answers to ask for at most, for each question.
    workers : int
        Requests under way at a time.
    """

    batch: int = 100
    most: int = 40
    added: int = 5
    rarest: float = 0.005
    attempts: int = 3
    workers: int = 8

    def __post_init__(self) -> None:
        for name in ("batch", "most", "attempts", "workers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.added < 0 or not 0 <= self.rarest < 1:
            raise ValueError(
                f"added must not be negative and rarest be a share below 1, got added "
                f"{self.added} and rarest {self.rarest}"
            )


@dataclass(frozen=True)
class Discovery:
    """What was found.

    Parameters
    ----------
    classes : tuple of IntentClass
        The most frequent one first.
    labels : DataFrame
        ``request`` (position among the texts), ``summary``, ``intent``; the latter two are
        missing where the model gave no usable answer, `intent` also where no class fits.
    coverage : DataFrame
        ``iteration, requests, classes, coverage``: the share of a minibatch that the classes
        found before it cover, so that no request judges classes made for it. The last row is
        the share of all requests that the final classes cover.
    problems : tuple of str
        Questions without a usable answer.
    usage : Usage
    usage_by_step : dict of str to Usage
        By the prompt that was used: "summarise", "generate", "update", "assign", "review".
    stages : dict of str to tuple of IntentClass
        The classes at first ("seeds"), after each minibatch that changed the list
        ("iteration 0", ...), and after "review". What is not among `classes` was dropped.
    """

    classes: tuple[IntentClass, ...]
    labels: pd.DataFrame
    coverage: pd.DataFrame
    problems: tuple[str, ...]
    usage: Usage
    usage_by_step: dict[str, Usage]
    stages: dict[str, tuple[IntentClass, ...]]


@cache
def load_prompts() -> dict:
    """Return the prompts and the seed classes."""
    path = files("iac_lib") / "data" / "intents" / "tnt_llm.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def load_seeds() -> list[IntentClass]:
    """Return the seven classes that discovery starts from (a reconstruction)."""
    return [IntentClass(name, about) for name, about in load_prompts()["seeds"].items()]


def discover_intents(
    llm: LLM,
    texts: Sequence[str],
    seed: int = 0,
    settings: Settings | None = None,
    seeds: Sequence[IntentClass] | None = None,
) -> Discovery:
    """Find the classes that cover what users want.

    Parameters
    ----------
    llm : LLM
    texts : sequence of str
        One context per conversation, as `iac_lib.intents.contexts.show_context` writes it.
    seed : int
        Shuffles the requests into minibatches.
    settings : Settings or None
        Default: `Settings()`.
    seeds : sequence of IntentClass or None
        Default: `load_seeds()`.

    Raises
    ------
    LLMError
        If no request could be summarised.
    ValueError
        If there are no texts.
    """
    if not len(texts):
        raise ValueError("there are no texts to find intents in")
    run = Run(llm, settings or Settings())
    summaries = run.summarise(texts)
    known = [request for request, summary in enumerate(summaries) if summary is not None]
    if not known:
        raise LLMError(f"none of {len(texts)} requests could be summarised: {run.problems[:1]}")
    order = np.random.default_rng(seed).permutation(known)
    classes = list(load_seeds() if seeds is None else seeds)
    coverage, seen, stages = [], [], {"seeds": tuple(classes)}
    for start in range(0, len(order), run.settings.batch):
        batch = [summaries[request] for request in order[start : start + run.settings.batch]]
        names = run.assign(batch, classes, "covering")
        seen += names
        iteration, before = len(coverage), classes
        coverage.append((iteration, len(batch), len(classes), share_covered(names)))
        if start == 0:
            classes = run.rewrite("generate", classes, batch)
        elif missed := [text for text, name in zip(batch, names, strict=True) if name == NONE]:
            classes = run.rewrite("update", classes, missed)
        if classes != before:
            stages[f"iteration {iteration}"] = tuple(classes)
    everything = [summaries[request] for request in known]
    classes = run.review(classes, seen)
    stages["review"] = tuple(classes)
    names = run.assign(everything, classes, "labelling")
    classes, dropped = drop_rare(classes, names, run.settings.rarest)
    if dropped:
        again = [i for i, name in enumerate(names) if name in dropped]
        moved = run.assign([everything[i] for i in again], classes, "relabelling")
        for position, name in zip(again, moved, strict=True):
            names[position] = name
    coverage.append((len(coverage), len(known), len(classes), share_covered(names)))
    labels = pd.DataFrame({"request": range(len(texts)), "summary": summaries, "intent": None})
    labels.loc[known, "intent"] = [None if name == NONE else name for name in names]
    return Discovery(
        tuple(sort_by_frequency(classes, names)),
        labels,
        pd.DataFrame(coverage, columns=["iteration", "requests", "classes", "coverage"]),
        tuple(run.problems),
        run.llm.usage,
        {step: meter.usage for step, meter in run.steps.items()},
        stages,
    )


class Run:
    """The questions of one discovery, each repeated with a complaint until it is answered.

    Parameters
    ----------
    llm : LLM
    settings : Settings
    """

    def __init__(self, llm: LLM, settings: Settings) -> None:
        self.llm = Metered(llm)
        self.steps = {step: Metered(self.llm) for step in STEPS}
        self.settings = settings
        self.problems: list[str] = []

    def summarise(self, texts: Sequence[str]) -> list[str | None]:
        """Return a sentence on each request, None where the model gave none."""

        def ask(text: str) -> str:
            return self._ask("summarise", read_summary, SUMMARY_TOKENS, text=text)

        return self._collect(ask, texts, "summarising")

    def assign(
        self, summaries: Sequence[str], classes: Sequence[IntentClass], desc: str
    ) -> list[str | None]:
        """Return each summary's class, `NONE` if none fits, None without a usable answer."""
        names = (*(each.name for each in classes), NONE)
        listed = "\n".join(f"- {each.name}: {each.description}" for each in classes)

        def read(answer: str) -> str:
            if found := read_label(answer, names):
                return found.name
            raise ClassListError("That is not exactly one of the names. Answer with one name.")

        def ask(text: str) -> str:
            return self._ask(
                "assign", read, NAME_TOKENS, names, classes=listed, text=text, none=NONE
            )

        return self._collect(ask, summaries, desc)

    def rewrite(
        self, step: str, classes: list[IntentClass], requests: Sequence[str]
    ) -> list[IntentClass]:
        """Return the classes after "generate" or "update"; unchanged without a usable answer.

        An update may add classes and describe the old ones anew, but what it leaves out stays.
        """
        limit = self.settings.most
        if step == "update":
            limit = min(limit, len(classes) + self.settings.added)
            if limit == len(classes):
                return classes
        try:
            found = self._ask(
                step,
                lambda answer: read_classes(answer, limit),
                LIST_TOKENS,
                classes=write_classes(classes),
                requests="\n".join(f"- {text}" for text in requests),
                count=len(requests),
                most=limit,
                added=self.settings.added,
            )
        except LLMError as error:
            self.problems.append(f"{step}: {error}")
            return classes
        if step == "generate":
            return found
        described = {each.name: each for each in found}
        kept = [described.pop(each.name, each) for each in classes]
        return (kept + list(described.values()))[:limit]

    def review(self, classes: list[IntentClass], names: Sequence[str | None]) -> list[IntentClass]:
        """Return the classes merged and described anew; unchanged without a usable answer.

        The shares shown are those found in the minibatches: a lower bound for late classes.
        """
        counts = pd.Series(names, dtype=object).value_counts()
        shares = "\n".join(
            f"- {each.name}: {counts.get(each.name, 0) / len(names):.1%}" for each in classes
        )
        try:
            return self._ask(
                "review",
                lambda answer: read_classes(answer, min(self.settings.most, len(classes))),
                LIST_TOKENS,
                classes=write_classes(classes),
                shares=shares,
                most=min(self.settings.most, len(classes)),
            )
        except LLMError as error:
            self.problems.append(f"review: {error}")
            return classes

    def _ask(self, step, read, max_tokens, choices=None, **fields):
        """Return what `read` makes of the answer, complaining to the model if it cannot."""
        prompts = load_prompts()
        messages = [
            {"role": "system", "content": prompts["system"]},
            {"role": "user", "content": prompts[step].format(**fields)},
        ]
        for _ in range(self.settings.attempts):
            try:
                answer = self.steps[step].complete(messages, max_tokens=max_tokens, choices=choices)
            except NotAChoice as refusal:
                answer = refusal.answer
            try:
                return read(answer.text)
            except ClassListError as complaint:
                problem = complaint
            messages = [
                *messages,
                {"role": "assistant", "content": answer.text or "(nothing)"},
                {"role": "user", "content": str(problem)},
            ]
        raise LLMError(f"no usable answer in {self.settings.attempts}, the last one: {problem}")

    def _collect(self, ask, items: Sequence[str], desc: str) -> list[str | None]:
        found = run_all(ask, items, self.settings.workers, desc)
        for error in found:
            if isinstance(error, LLMError):
                self.problems.append(f"{desc}: {error}")
        return [None if isinstance(each, LLMError) else each for each in found]


def read_summary(answer: str) -> str:
    """Return a summary on one line."""
    if summary := " ".join(answer.split()):
        return summary
    raise ClassListError("There is no sentence in that. Answer with one sentence.")


def drop_rare(
    classes: list[IntentClass], names: Sequence[str | None], rarest: float
) -> tuple[list[IntentClass], set[str]]:
    """Return the classes with at least a share `rarest` of the requests, and the others' names.

    The most frequent class stays in any case.
    """
    counts = pd.Series(names, dtype=object).value_counts()
    frequent = sort_by_frequency(classes, names)[0]
    kept = [
        each
        for each in classes
        if each is frequent or counts.get(each.name, 0) >= rarest * len(names)
    ]
    return kept, {each.name for each in classes} - {each.name for each in kept}


def sort_by_frequency(
    classes: Sequence[IntentClass], names: Sequence[str | None]
) -> list[IntentClass]:
    """Return the classes, the most frequent first; equals keep their order."""
    counts = pd.Series(names, dtype=object).value_counts()
    return sorted(classes, key=lambda each: -counts.get(each.name, 0))


def share_covered(names: Sequence[str | None]) -> float:
    """Return the share of requests that a class fits; those without an answer count as none."""
    return sum(name is not None and name != NONE for name in names) / len(names)
