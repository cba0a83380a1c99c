"""Ask by file: questions without a kept answer are written down, to be answered as a batch.

Batches cost half of what single requests do at most vendors, and a model that has no URL can
be asked this way, too. The files are those of the OpenAI Batch API. A run stops at the first
step that lacks answers; once they are read in, the same run goes on from there.
"""

from __future__ import annotations

import json
from pathlib import Path
from threading import Lock

from iac_lib.files import write_atomically
from iac_lib.llm.answer import Answer, LLMError, Waiting, check_choice
from iac_lib.llm.recorded import append_answer, drop_cut_line, hash_question, read_answers

URL = "/v1/chat/completions"


class BatchLLM:
    """A model that is asked by file.

    Parameters
    ----------
    path : path
        Answers kept so far (``.jsonl``), made if missing.
    name : str
        The model that is to answer.

    Attributes
    ----------
    waiting : dict
        Bodies of the questions without an answer, by hash.
    """

    def __init__(self, path: str | Path, name: str) -> None:
        self.path, self.name = Path(path), name
        self.waiting: dict[str, dict] = {}
        self._answers = read_answers(self.path) if self.path.exists() else {}
        self._lock = Lock()

    def complete(
        self,
        messages: list[dict[str, str]],
        *,
        max_tokens: int = 512,
        choices: tuple[str, ...] | None = None,
        seed: int = 0,
    ) -> Answer:
        """Return the kept answer; see `LLM.complete`.

        Raises
        ------
        Waiting
            If there is none yet; the question is among those to be written down.
        """
        key = hash_question(self.name, messages, max_tokens, choices, seed)
        if key in self._answers:
            return check_choice(self._answers[key], choices)
        body = {
            "model": self.name,
            "messages": messages,
            "max_tokens": max_tokens,
            "seed": seed,
            "temperature": 0,
        }
        if choices is not None:
            body["structured_outputs"] = {"choice": list(choices)}
        with self._lock:
            self.waiting[key] = body
        raise Waiting(f"{self.name} has not answered yet")

    def write_questions(self, path: str | Path) -> int:
        """Write the questions that wait for an answer as a batch file, and return how many."""
        lines = [
            json.dumps({"custom_id": key, "method": "POST", "url": URL, "body": body})
            for key, body in sorted(self.waiting.items())
        ]
        with write_atomically(path) as temporary:
            temporary.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return len(lines)


def read_batch(path: str | Path, answers: str | Path) -> tuple[int, list[str]]:
    """Add the results of a batch to kept answers.

    Parameters
    ----------
    path : path
        The vendor's result file: a line per question, ``custom_id`` and ``response``.
    answers : path
        Where `BatchLLM` keeps answers.

    Returns
    -------
    added : int
    failed : list of str
        What the vendor says of each question that got no answer; they stay waiting.

    Raises
    ------
    LLMError
        If a line is no result; nothing is added then.
    """
    found, failed = [], []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        try:
            result = json.loads(line)
            key, response = result["custom_id"], result["response"]
            if result.get("error") or response["status_code"] != 200:
                failed.append(f"line {number}: {result.get('error') or response['status_code']}")
                continue
            found.append((key, read_body(response["body"])))
        except (ValueError, KeyError, TypeError, IndexError) as damage:
            raise LLMError(f"{path}, line {number} is no result of a batch: {damage!r}") from damage
    answers = Path(answers)
    answers.parent.mkdir(parents=True, exist_ok=True)
    drop_cut_line(answers)
    for key, answer in found:
        append_answer(answers, key, answer)
    return len(found), failed


def read_body(body: dict) -> Answer:
    """Return the answer in the body of a chat completion; batches tell no time."""
    usage = body.get("usage") or {}
    return Answer(
        body["choices"][0]["message"]["content"] or "",
        int(usage.get("prompt_tokens", 0)),
        int(usage.get("completion_tokens", 0)),
        0.0,
        body["model"],
    )
