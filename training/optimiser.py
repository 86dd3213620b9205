"""Muon for the matrices, AdamW for everything else, under one learning rate.

Muon (Jordan et al. 2024) keeps a momentum M of the gradient of a matrix and steps along the nearest orthogonal matrix,
U Vᵀ for M = U S Vᵀ, so that every direction of the matrix is learned at the same speed. Five Newton-Schulz iterations
stand in for the decomposition. Scaled by 0.2 √max(rows, columns) its steps are as large as AdamW's (Liu et al. 2025),
so both share one learning rate. Embeddings, norms and biases are AdamW's: they are no maps from vectors to vectors.
"""

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)


def make_optimisers(model: nn.Module, *, weight_decay: float, muon: bool) -> list[torch.optim.Optimizer]:
    """The optimisers of a model; their learning rates are set by the training."""
    is_cuda = next(model.parameters()).is_cuda
    named = dict(model.named_parameters())
    matrices = [p for name, p in named.items() if p.ndim == 2 and "embeddings" not in name]
    embeddings = [p for name, p in named.items() if p.ndim == 2 and "embeddings" in name]
    vectors = [p for p in named.values() if p.ndim == 1]
    decayed = embeddings if muon else embeddings + matrices
    adam = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}],
        betas=(0.9, 0.98),
        fused=is_cuda,
    )
    return [adam, Muon(matrices, weight_decay=weight_decay)] if muon else [adam]


class Muon(torch.optim.Optimizer):
    """Momentum, made orthogonal; matrices of one shape are stacked and done together."""

    def __init__(self, matrices: Iterable[nn.Parameter], *, weight_decay: float, momentum: float = 0.95) -> None:
        super().__init__(matrices, {"lr": 1e-3, "weight_decay": weight_decay, "momentum": momentum})
        self._orthogonalise = orthogonalise
        if self.param_groups[0]["params"][0].is_cuda:
            self._orthogonalise = torch.compile(orthogonalise, dynamic=False)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """One step for every matrix."""
        for group in self.param_groups:
            stacks: defaultdict[torch.Size, list[nn.Parameter]] = defaultdict(list)
            for matrix in group["params"]:
                stacks[matrix.shape].append(matrix)
            for shape, stack in stacks.items():
                scale = 0.2 * max(shape) ** 0.5
                updates = self._orthogonalise(self._momentum(stack, group["momentum"]))
                torch._foreach_mul_(stack, 1 - group["lr"] * group["weight_decay"])
                torch._foreach_add_(stack, list(updates.unbind()), alpha=-group["lr"] * scale)

    def _momentum(self, stack: list[nn.Parameter], momentum: float) -> Tensor:
        """Nesterov momentum of the stack (matrices, rows, columns)."""
        gradients = torch.stack([matrix.grad for matrix in stack])
        state = self.state[stack[0]]
        if not state:
            state["momentum"] = torch.zeros_like(gradients)
        state["momentum"].lerp_(gradients, 1 - momentum)
        return gradients.lerp_(state["momentum"], momentum)


def orthogonalise(matrices: Tensor) -> Tensor:
    """The nearest orthogonal matrices, roughly: singular values come out between 0.7 and 1.2."""
    a, b, c = NEWTON_SCHULZ
    is_tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.bfloat16()
    x = x.mT if is_tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.mT if is_tall else x).to(matrices.dtype)
