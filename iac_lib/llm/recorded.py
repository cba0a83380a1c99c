"""Answers kept as they arrive and given again, so that nothing is asked twice.

Answers lie under a hash of model, conversation, choices, length and seed; the questions are
not kept. A JSONL file takes new answers, one whole line at a time, so that a run that was
killed loses at most the answer under way. A Parquet file made of it is for passing on.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from threading import Lock

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from iac_lib.files import write_atomically
from iac_lib.llm.answer import LLM, Answer, LLMError, NotAChoice, check_choice

SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("text", pa.string()),
        ("prompt_tokens", pa.int32()),
        ("output_tokens", pa.int32()),
        ("seconds", pa.float32()),
        ("model", pa.string()),
        ("probabilities", pa.map_(pa.string(), pa.float32())),
    ]
)


class RecordedLLM:
    """A model whose answers are kept.

    Parameters
    ----------
    path : path
        Answers kept earlier: ``.jsonl``, made if missing when there is an inner model, or
        ``.parquet``, which takes no new ones.
    inner : LLM or None
        Whom to ask for an answer that is not kept; None to give kept ones only.
    name : str or None
        The model that answered, needed without an inner one.

    Raises
    ------
    LLMError
        If the file is missing or damaged, or cannot take new answers.
    ValueError
        If neither an inner model nor a name is given.
    """

    def __init__(self, path: str | Path, inner: LLM | None = None, name: str | None = None) -> None:
        if inner is None and name is None:
            raise ValueError("without an inner model, say by name= whose answers to give")
        self.path = Path(path)
        self.inner = inner
        self.name = name or inner.name
        if inner is not None and self.path.suffix != ".jsonl":
            raise LLMError(
                f"{self.path} takes no new answers; give a .jsonl file or no inner model"
            )
        self._answers = {} if inner and not self.path.exists() else read_answers(self.path)
        self._lock = Lock()
        if inner is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            drop_cut_line(self.path)

    def __len__(self) -> int:
        return len(self._answers)

    def complete(
        self,
        messages: list[dict[str, str]],
        *,
        max_tokens: int = 512,
        choices: tuple[str, ...] | None = None,
        seed: int = 0,
    ) -> Answer:
        """Return the kept answer, or ask for it and keep it; see `LLM.complete`.

        An answer that is no choice is kept too: asking again would not change it.

        Raises
        ------
        LLMError
            If the answer is not kept and there is no inner model.
        """
        key = hash_question(self.name, messages, max_tokens, choices, seed)
        if key in self._answers:
            return check_choice(self._answers[key], choices)
        if self.inner is None:
            raise LLMError(
                f"{self.path} has no answer of {self.name} to this question ({key[:12]}); "
                "give the model as inner= to ask for it"
            )
        try:
            answer = self.inner.complete(
                messages, max_tokens=max_tokens, choices=choices, seed=seed
            )
        except NotAChoice as refusal:
            answer = refusal.answer
        return check_choice(self._keep(key, answer), choices)

    def _keep(self, key: str, answer: Answer) -> Answer:
        with self._lock:
            # The same question may have been under way twice; the first answer stands.
            if key in self._answers:
                return self._answers[key]
            append_answer(self.path, key, answer)
            self._answers[key] = answer
            return answer


def append_answer(path: Path, key: str, answer: Answer) -> None:
    """Add one answer to a file of kept ones."""
    line = json.dumps({"key": key, **asdict(answer)}, ensure_ascii=False) + "\n"
    # One unbuffered write of a whole line, at the end whoever else is writing.
    with open(path, "ab", buffering=0) as file:
        file.write(line.encode("utf-8", "surrogatepass"))


def hash_question(
    model: str,
    messages: list[dict[str, str]],
    max_tokens: int,
    choices: tuple[str, ...] | None,
    seed: int,
) -> str:
    """Return the SHA-256 under which the answer is kept."""
    question = [model, messages, max_tokens, choices, seed]
    content = json.dumps(question, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()


def read_answers(path: Path) -> dict[str, Answer]:
    """Return the kept answers by hash.

    Raises
    ------
    LLMError
        If the file is missing, or anything but its last line is damaged.
    """
    if not path.exists():
        raise LLMError(f"there are no recorded answers at {path}")
    try:
        rows = read_parquet(path) if path.suffix == ".parquet" else read_lines(path)
        answers: dict[str, Answer] = {}
        for row in rows:
            answers.setdefault(row.pop("key"), Answer(**row))
        return answers
    except (pa.ArrowException, KeyError, TypeError) as damage:
        raise LLMError(f"{path} holds no recorded answers: {damage}") from damage


def read_lines(path: Path) -> list[dict]:
    """Return the rows of a JSONL file, without a last line that was cut."""
    whole = path.read_bytes().split(b"\n")[:-1]
    rows = []
    for number, line in enumerate(whole, start=1):
        try:
            rows.append(json.loads(line.decode("utf-8", "surrogatepass")))
        except ValueError as damage:
            raise LLMError(f"{path}, line {number} is damaged ({damage}); remove it") from damage
    return rows


def read_parquet(path: Path) -> list[dict]:
    """Return the rows of a Parquet file."""
    rows = pq.read_table(path, schema=SCHEMA, page_checksum_verification=True).to_pylist()
    for row in rows:
        row["probabilities"] = dict(row["probabilities"]) if row["probabilities"] else None
    return rows


def drop_cut_line(path: Path) -> None:
    """Remove what follows the last line break, left by a run that was killed."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with open(path, "r+b") as file:
            file.truncate(whole)


def compact_answers(path: Path, target: Path) -> int:
    """Write kept answers as a small Parquet file for passing on, and return how many.

    It holds hashes, answers, tokens and seconds, and not a word of the questions.

    Parameters
    ----------
    path : path
        As `RecordedLLM` keeps them.
    target : path
        Ending in ``.parquet``.
    """
    answers = read_answers(Path(path))
    rows = [{"key": key, **asdict(answer)} for key, answer in sorted(answers.items())]
    frame = pd.DataFrame(rows, columns=SCHEMA.names)
    frame["probabilities"] = [p and list(p.items()) for p in frame["probabilities"]]
    table = pa.Table.from_pandas(frame, SCHEMA, preserve_index=False)
    with write_atomically(target) as temporary:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)
    return len(rows)
