"""The DistilBERT architecture on packed lines: no padding, any number of lines end to end.

A step of the training is one long row of pieces; `bounds` says where each line starts, and a piece attends to its own
line only:

    pieces     [CLS] a cat [SEP] [CLS] no [SEP]
    positions     0  1   2     3     0  1     2
    bounds        0                  4           7

Parameters carry the names of `transformers.DistilBertForMaskedLM` (post-norm layers, exact GELU, learned positions,
output tied to the piece embedding), so the saved weights load there as they are. Weights stay in float32; products are
taken in the type given as `dtype`. Left out on purpose: dropout, since every line is seen under fresh masks each time.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention.varlen import varlen_attn

NORM_EPSILON = 1e-12


@dataclass(frozen=True)
class Shape:
    """How large a model is; the field names are those of `transformers.DistilBertConfig`."""

    vocab_size: int = 16_000
    n_layers: int = 7
    dim: int = 256
    hidden_dim: int = 1024
    n_heads: int = 8
    max_position_embeddings: int = 128


@dataclass(frozen=True)
class Packed:
    """Lines end to end: pieces and positions (length,), bounds (lines + 1,) and the longest line."""

    pieces: Tensor
    positions: Tensor
    bounds: Tensor
    longest: int


class MaskedLanguageModel(nn.Module):
    """Packed lines in, logits over the vocabulary at the wanted places out."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.distilbert = Encoder(shape)
        self.vocab_transform = nn.Linear(shape.dim, shape.dim)
        self.vocab_layer_norm = nn.LayerNorm(shape.dim, eps=NORM_EPSILON)
        self.vocab_projector = nn.Linear(shape.dim, shape.vocab_size)
        self.apply(_initialise)
        self.vocab_projector.weight = self.distilbert.embeddings.word_embeddings.weight

    def forward(self, lines: Packed, wanted: Tensor, dtype: torch.dtype) -> Tensor:
        """Logits (wanted, vocabulary) at the flat places `wanted`."""
        hidden = self.distilbert(lines, dtype)[wanted]
        hidden = _normalise(F.gelu(_apply(self.vocab_transform, hidden)), self.vocab_layer_norm)
        return _apply(self.vocab_projector, hidden)

    def count_parameters(self) -> int:
        """Parameters, the tied embedding once."""
        return sum(parameter.numel() for parameter in self.parameters())


class Encoder(nn.Module):
    """Embedding and layers; the submodules exist for the names of their parameters."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.embeddings = Embeddings(shape)
        self.transformer = nn.Module()
        self.transformer.layer = nn.ModuleList(Layer(shape) for _ in range(shape.n_layers))

    def forward(self, lines: Packed, dtype: torch.dtype) -> Tensor:
        """ShuffledPositions states (length, width)."""
        hidden = self.embeddings(lines).to(dtype)
        for layer in self.transformer.layer:
            hidden = layer(hidden, lines)
        return hidden


class Embeddings(nn.Module):
    """Piece plus position, normalised."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(shape.vocab_size, shape.dim)
        self.position_embeddings = nn.Embedding(shape.max_position_embeddings, shape.dim)
        self.LayerNorm = nn.LayerNorm(shape.dim, eps=NORM_EPSILON)

    def forward(self, lines: Packed) -> Tensor:
        """Embedded pieces (length, width), float32."""
        return self.LayerNorm(self.word_embeddings(lines.pieces) + self.position_embeddings(lines.positions))


class Layer(nn.Module):
    """Attention and two products, each followed by a sum with its input and a norm."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.n_heads = shape.n_heads
        self.attention = nn.Module()
        for name in ("q_lin", "k_lin", "v_lin", "out_lin"):
            self.attention.add_module(name, nn.Linear(shape.dim, shape.dim))
        self.sa_layer_norm = nn.LayerNorm(shape.dim, eps=NORM_EPSILON)
        self.ffn = nn.Module()
        self.ffn.lin1 = nn.Linear(shape.dim, shape.hidden_dim)
        self.ffn.lin2 = nn.Linear(shape.hidden_dim, shape.dim)
        self.output_layer_norm = nn.LayerNorm(shape.dim, eps=NORM_EPSILON)

    def forward(self, hidden: Tensor, lines: Packed) -> Tensor:
        """The next hidden states, same shape and type."""
        attended = self._attend(hidden, lines)
        hidden = _normalise(hidden + _apply(self.attention.out_lin, attended), self.sa_layer_norm)
        inner = F.gelu(_apply(self.ffn.lin1, hidden))
        return _normalise(hidden + _apply(self.ffn.lin2, inner), self.output_layer_norm)

    def _attend(self, hidden: Tensor, lines: Packed) -> Tensor:
        # One product for the three: their weights are small, the hidden states are not.
        parts = (self.attention.q_lin, self.attention.k_lin, self.attention.v_lin)
        weight = torch.cat([part.weight for part in parts]).to(hidden.dtype)
        bias = torch.cat([part.bias for part in parts]).to(hidden.dtype)
        triple = F.linear(hidden, weight, bias).view(len(hidden), 3, self.n_heads, -1)
        return attend(*triple.unbind(1), lines).reshape(hidden.shape)


def attend(query: Tensor, key: Tensor, value: Tensor, lines: Packed) -> Tensor:
    """Attention of (length, heads, head width) within each line."""
    if query.is_cuda:
        return varlen_attn(query, key, value, lines.bounds, lines.bounds, lines.longest, lines.longest)
    line = torch.searchsorted(lines.bounds, torch.arange(len(query), dtype=lines.bounds.dtype), right=True)
    mask = line[:, None] == line[None, :]
    heads_first = [part.transpose(0, 1)[None] for part in (query, key, value)]
    return F.scaled_dot_product_attention(*heads_first, attn_mask=mask)[0].transpose(0, 1)


def save(model: MaskedLanguageModel, folder: Path) -> None:
    """Writes `model.safetensors` (float32) and a `config.json` that transformers understands."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    state = {name: tensor.detach().float().cpu().contiguous() for name, tensor in model.state_dict().items()}
    del state["vocab_projector.weight"]  # tied: the embedding is written once
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    config = {
        "architectures": ["DistilBertForMaskedLM"],
        "model_type": "distilbert",
        "activation": "gelu",
        "pad_token_id": 0,
        "tie_weights_": True,
        **asdict(model.shape),
        "parameters": model.count_parameters(),
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def load(folder: Path) -> MaskedLanguageModel:
    """The model that `save` wrote, on the CPU."""
    from safetensors.torch import load_file

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    model = MaskedLanguageModel(Shape(**{name: config[name] for name in Shape.__dataclass_fields__}))
    model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
    return model.eval()


def _apply(linear: nn.Linear, hidden: Tensor) -> Tensor:
    return F.linear(hidden, linear.weight.to(hidden.dtype), linear.bias.to(hidden.dtype))


def _normalise(hidden: Tensor, norm: nn.LayerNorm) -> Tensor:
    weight, bias = norm.weight.to(hidden.dtype), norm.bias.to(hidden.dtype)
    return F.layer_norm(hidden, norm.normalized_shape, weight, bias, norm.eps)


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
