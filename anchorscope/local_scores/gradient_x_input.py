"""Gradient x input, by Captum: what a term does to first order, from the slope at the document itself.

    sum over the pieces of the term's words of   embedding . d P(label) / d embedding

One pass forth and back is all that a document takes. Where the model is sure, its slope is flat, and every term seems
to do next to nothing.
"""

from __future__ import annotations

from typing import Any

from anchorscope.local_scores.gradients import GradientScore
from anchorscope.types import Differentiable


class GradientXInputScore(GradientScore):
    """The slope of the label's probability at the document, along the term's embeddings."""

    name = "gradient-x-input"
    help = "the slope of the label's probability along the term's embeddings, at the document itself"
    call = "a pass of the document through the model, and back"

    @property
    def _passes(self) -> int:
        return 1

    def _attribute(self, given: Differentiable, labels: Any) -> Any:
        inputs = given.embeddings.detach().requires_grad_()
        method = self._captum.InputXGradient(given.forward)
        return method.attribute(inputs, target=labels, additional_forward_args=given.rest)
