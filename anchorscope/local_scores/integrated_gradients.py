"""Integrated gradients (Sundararajan, Taly and Yan 2017), by Captum: slopes on the way from a text that says nothing.

    sum over the pieces of the term's words of   (x - x0) . mean over the way from x0 to x of  d P(label) / d x

x are the document's embeddings, x0 those of padding in their place, and the way is straight. What all pieces get adds
up to what the document says beyond x0. The mean is read at ``--max-samples`` points (Gauss-Legendre), and each takes a
pass forth and back.
"""

from __future__ import annotations

from typing import Any

from anchorscope.local_scores.gradients import AT_ONCE, GradientScore
from anchorscope.types import Differentiable


class IntegratedGradientsScore(GradientScore):
    """The slopes of the label's probability along the term's embeddings, from an empty document to this one."""

    name = "integrated-gradients"
    help = "the slope of the label's probability along the term's embeddings, on the way from padding to the document"
    call = "a pass through the model, and back, at a point on the way from padding to the document"

    @property
    def _passes(self) -> int:
        return self._settings.max_samples

    def _attribute(self, given: Differentiable, labels: Any) -> Any:
        method = self._captum.IntegratedGradients(given.forward)
        return method.attribute(
            given.embeddings,
            baselines=given.baselines,
            target=labels,
            additional_forward_args=given.rest,
            n_steps=self._passes,
            method="gausslegendre",
            internal_batch_size=max(AT_ONCE, len(labels)),
        )
