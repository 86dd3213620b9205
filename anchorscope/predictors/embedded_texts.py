"""Texts as the embeddings of a Hugging Face model, for gradients: what goes in, what comes out, which piece is where.

A text that says nothing, which gradients may be followed from, has padding in the place of every piece but the special
ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anchorscope.errors import InputError
from anchorscope.predictors.encoding import well_formed
from anchorscope.types import Differentiable


def embedded_texts(
    model: Any, tokenizer: Any, truncation: Mapping[str, Any], texts: Sequence[str], device: str, *, pads: bool = True
) -> Differentiable:
    """What gradients of the model's probabilities by the pieces of some texts are taken of.

    Texts of different lengths are padded here; a model that is to see none (``pads`` is False) reads each length by
    itself.
    """
    import torch

    if not tokenizer.is_fast:
        raise InputError(
            "The model's tokenizer does not say where its pieces are from, so gradients cannot be read for words: save "
            "a fast tokenizer with the model, or use --score occlusion."
        )
    encoded = tokenizer(
        [well_formed(text) for text in texts],
        padding=len(texts) > 1,
        return_tensors="pt",
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        return_attention_mask=True,
        **truncation,
    )
    is_read = encoded["attention_mask"].to(device)
    if "attention_mask" not in tokenizer.model_input_names:
        del encoded["attention_mask"]
    spans = encoded.pop("offset_mapping").tolist()
    special = encoded.pop("special_tokens_mask").bool()
    pieces = encoded.pop("input_ids")
    nothing = torch.where(special, pieces, _blank(tokenizer))
    rest = {name: tensor.to(device) for name, tensor in encoded.items()}
    embed = model.get_input_embeddings()
    with torch.no_grad():
        embeddings, baselines = (embed(ids.to(device)) for ids in (pieces, nothing))

    def forward(embeddings: Any, *rows: Any) -> Any:
        inputs = {"inputs_embeds": embeddings, **dict(zip(rest, rows))}
        logits = model(**inputs).logits if pads else _logits_unpadded(model, inputs, rows[-1])
        return logits.double().softmax(dim=-1)

    rows = (*rest.values(), *(() if pads else (is_read,)))
    return Differentiable(forward, embeddings, baselines, rows, spans)


def _logits_unpadded(model: Any, inputs: Mapping[str, Any], is_read: Any) -> Any:
    """The logits of some texts, those of equal length together; ``is_read`` (texts, pieces) is 0 for padding."""
    import torch

    lengths = is_read.sum(dim=1)
    groups = [(lengths == length).nonzero()[:, 0] for length in lengths.unique()]
    logits = []
    for group in groups:
        there = is_read[group[0]].bool()  # padding is on the same side of all
        logits.append(model(**{name: tensor[group][:, there] for name, tensor in inputs.items()}).logits)
    return torch.cat(logits)[torch.cat(groups).argsort()]


def _blank(tokenizer: Any) -> int:
    """The piece that stands for nothing: padding, or what is unknown."""
    found: int = tokenizer.unk_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    return found
