"""Gradient x input of a Hugging Face classifier: what each term of a text does, to first order, by one pass and back.

    weight of a piece = sum over its embedding of  embedding * d P(label) / d embedding

A term's weight is the sum over its pieces, wherever they are in the text.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from anchorscope.text.words import spans, split, terms


@cache
def word_gradients(predictor: Any, text: str, label: str) -> dict[str, float]:
    """The weight of each term of a text for a label; ``predictor`` may stand around the one of Hugging Face.

    It hangs on nothing else, so it is computed once, whatever number of calls and seed it is for.
    """
    import torch

    while not hasattr(predictor, "model"):
        predictor = predictor.inner
    model, tokenizer = predictor.model, _tokenizer(predictor)
    encoded = tokenizer(text, return_offsets_mapping=True, return_tensors="pt", truncation=True, max_length=512)
    encoded = encoded.to(model.device)
    offsets = encoded.pop("offset_mapping")[0].tolist()
    inputs = model.get_input_embeddings()(encoded.pop("input_ids")).detach().requires_grad_()
    chance = model(inputs_embeds=inputs, **encoded).logits.softmax(dim=-1)[0, predictor.labels.index(label)]
    (gradient,) = torch.autograd.grad(chance, inputs)
    weights = (gradient * inputs).sum(dim=-1)[0].tolist()
    found: dict[str, float] = {}
    cut = split(text)
    for key, (start, end) in zip(terms(cut), spans(cut)):
        if key is not None:
            inside = sum(w for w, (a, b) in zip(weights, offsets) if a < end and b > start)
            found[key] = found.get(key, 0.0) + inside
    return found


_TOKENIZERS: dict[str, Any] = {}


def _tokenizer(predictor: Any) -> Any:
    from transformers import AutoTokenizer

    folder = str(predictor.folder)
    if folder not in _TOKENIZERS:
        _TOKENIZERS[folder] = AutoTokenizer.from_pretrained(folder)
    return _TOKENIZERS[folder]
