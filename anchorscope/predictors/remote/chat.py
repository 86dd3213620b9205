"""A language model behind chat completions, used as a classifier: it is told to answer with one of the label words.

Where the server gives log-probabilities, the probability of a label is that of the tokens with which its word can
begin, as a share of all labels' together:

    first token   "pos" 0.60   "Pos" 0.15   "neg" 0.20   "The" 0.05
    positive      (0.60 + 0.15) / 0.95 = 0.79        negative      0.20 / 0.95 = 0.21

So the words of the labels have to differ in their first token. Where a server gives none, ``votes`` answers are drawn a
text at temperature 1, and a label's share of them is its probability: in steps of 1 / votes, and with the noise of so
few draws; the seed of a text's draws is made from the text, for servers that heed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from math import exp
from typing import Any

from anchorscope.asking.answers import shortened
from anchorscope.errors import InputError, ModelError, in_a_line, listed
from anchorscope.predictors.labels import given_names
from anchorscope.predictors.remote.options import RemoteOptions
from anchorscope.text.pairs import is_pair, sides

TOP = 20
"""Tokens whose log-probabilities are asked for: as many as servers give."""

LEAST = 0.01
"""Where the label words have less than this probability together, the model does not answer with them."""

TOLERANCE = 1e-3
"""How far above 0 a log-probability may be: what half precision loses, and no more."""

PROMPT = "Classify the text. Answer with one word and nothing else: {labels}."


class Chat:
    """Chat completions; one text a request."""

    reads = ("api_model", "prompt", "votes")
    reads_pairs = True
    at_once = 1
    expected = '{"choices": [{"message": {"content": "good"}, "logprobs": {"content": [{"top_logprobs": […]}]}}]}'

    def __init__(self, options: RemoteOptions, labels: Sequence[str] | None) -> None:
        if labels is None:
            raise InputError("A language model has no labels of its own; give the words: --labels negative,positive.")
        if options.api_model is None:
            raise InputError("Name the language model that the server is to use: --api-model NAME.")
        self._labels = given_names(labels)
        self._model = options.api_model
        self._votes = options.votes
        self._prompt = (options.prompt or PROMPT).replace("{labels}", " or ".join(self._labels))

    def body(self, texts: Sequence[str]) -> Any:
        """The instruction, and the text as what the user says."""
        messages = [{"role": "system", "content": self._prompt}, {"role": "user", "content": _said(texts[0])}]
        asked: dict[str, Any] = {"model": self._model, "messages": messages, "max_tokens": 8}
        if self._votes is None:
            return {**asked, "temperature": 0, "logprobs": True, "top_logprobs": TOP}
        seed = int.from_bytes(sha256(texts[0].encode("utf-8", "surrogatepass")).digest()[:4], "big") >> 1
        return {**asked, "temperature": 1, "n": self._votes, "seed": seed}

    def rows(self, answer: Any, texts: Sequence[str]) -> list[Any]:
        """One row, by label."""
        choices = answer["choices"]
        if self._votes is not None:
            return [self._shares([choice["message"]["content"] for choice in choices], texts[0])]
        said = choices[0].get("logprobs")
        if not said or not said.get("content"):
            raise ModelError(
                "The server gives no log-probabilities; let the model vote: --votes 10 asks for 10 answers a text."
            )
        tokens = said["content"][0]["top_logprobs"]
        return [self._probabilities(_by_token(tokens), texts[0])]

    def _probabilities(self, tokens: dict[str, float], text: str) -> dict[str, float]:
        found = dict.fromkeys(self._labels, 0.0)
        for token, probability in tokens.items():
            begun = [label for label in self._labels if token.strip() and _begins(label, token)]
            if len(begun) > 1:
                raise ModelError(
                    f"The labels {' and '.join(begun)} begin with the same token ({token!r}), so their probabilities "
                    "cannot be told apart; choose words that begin differently, or --votes 10."
                )
            for label in begun:
                found[label] += probability
        total = sum(found.values())
        if total < LEAST:
            best = max(tokens, key=lambda token: tokens[token], default="")
            raise ModelError(self._no_label(best, text), text=text)
        return {label: probability / total for label, probability in found.items()}

    def _shares(self, answers: list[str], text: str) -> dict[str, float]:
        if len(answers) != self._votes:
            raise ModelError(
                f"The server answered {len(answers)} times where {self._votes} votes were asked for; does it heed n?"
            )
        votes = [label for said in answers for label in self._said_in(said)]
        if not votes:
            raise ModelError(self._no_label(answers[0], text), text=text)
        return {label: votes.count(label) / len(votes) for label in self._labels}

    def _said_in(self, answer: str) -> list[str]:
        """The label that an answer begins with: of 1 and 10 it is the longer one, if both fit; none where none does."""
        begun = [label for label in self._labels if _begins(answer.strip(), label)]
        return [max(begun, key=len)] if begun else []

    def _no_label(self, said: str, text: str) -> str:
        return (
            f"The model said {shortened(said)} about {shortened(text)}, which is none of the labels "
            f"({listed(self._labels)}); say in --prompt what to answer."
        )


def _by_token(tokens: Sequence[Any]) -> dict[str, float]:
    """The probability of each token; of one that is listed twice, both together.

    >>> _by_token([{"token": "no", "logprob": 0.0}, {"token": "yes", "logprob": -9999.0}])
    {'no': 1.0, 'yes': 0.0}
    """
    found: dict[str, float] = {}
    for listed_token in tokens:
        token = str(listed_token["token"])
        told = listed_token["logprob"]
        if isinstance(told, bool) or not isinstance(told, int | float) or not told <= TOLERANCE:
            raise ModelError(
                f"The server gives {shortened(token)} the log-probability {in_a_line(told)}; expected a number of at "
                "most 0: does it send logits? Let the model vote: --votes 10."
            )
        found[token] = found.get(token, 0.0) + exp(min(0.0, told))
    return found


def _said(text: str) -> str:
    return "1: {}\n2: {}".format(*sides(text)) if is_pair(text) else text


def _begins(word: str, start: str) -> bool:
    return word.casefold().startswith(start.strip().casefold())
