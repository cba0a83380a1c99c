"""LPC's own input text: the last prompts of a conversation, cut to fit one embedding.

`continuation.build_inputs` does without it; this is what to compare that with. Knows no
tokenizer: where tokens begin and end is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from iac_lib.reuse.continuation import PROMPTS

TOKENS = 512
RESERVED = 8  # for the embedder's prefix, its special tokens and the line breaks


def concatenate_prompts(
    prompts: Sequence[str],
    find_tokens: Callable[[str], Sequence[tuple[int, int]]],
    limit: int = TOKENS,
) -> str:
    """Return the current prompt and up to four before it as one text of at most `limit` tokens.

    The tokens are shared equally; a prompt longer than its share keeps head and tail (LPC).
    What a short prompt leaves of its share is not given to others (ours).

    Parameters
    ----------
    prompts : sequence of str
        User prompts, oldest first; of more than five, the last five count.
    find_tokens : callable
        Returns where each token of a text begins and ends, in characters, as the
        ``offset_mapping`` of a fast tokenizer.
    limit : int
        Tokens in all, of which 8 are reserved for what the embedder adds.
    """
    window = prompts[-PROMPTS:]
    share = (limit - RESERVED) // max(len(window), 1)
    return "\n".join(cut_text(prompt, find_tokens(prompt), share) for prompt in window)


def cut_text(text: str, spans: Sequence[tuple[int, int]], limit: int) -> str:
    """Return `text`, or the parts of it that its first and its last half of `limit` tokens cover.

    Parameters
    ----------
    text : str
    spans : sequence of (int, int)
        First character of each token, and the one after its last.
    limit : int
        At least 2.
    """
    if len(spans) <= limit:
        return text
    tail = limit // 2
    head_end, tail_start = spans[limit - tail - 1][1], spans[len(spans) - tail][0]
    return f"{text[:head_end]} {text[tail_start:]}"
