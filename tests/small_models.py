"""Small models of several kinds, and what they are trained on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TEXTS = ["a great film", "a bad film", "great great", "bad", "not great at all", "a film"]

TARGETS = ["good", "bad", "good", "bad", "bad", "good"]

LABELS = ["bad", "good"]

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "great", "bad", "film", "not", "at", "all"]


def text_pipeline(classifier: Any = None) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(), classifier or LogisticRegression()).fit(TEXTS, TARGETS)


def tiny_bert(head: str = "BertForSequenceClassification", **settings: Any) -> tuple[Any, Any]:
    import torch
    import transformers

    torch.manual_seed(0)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    names = {"id2label": dict(enumerate(LABELS)), "label2id": {label: i for i, label in enumerate(LABELS)}}
    config = transformers.BertConfig(
        **{
            "vocab_size": len(WORDS),
            "max_position_embeddings": 16,
            "initializer_range": 1.0,
            **sizes,
            **names,
            **settings,
        }
    )
    tokenizer = transformers.BertTokenizer(vocab={word: i for i, word in enumerate(WORDS)}, model_max_length=16)
    return getattr(transformers, head)(config).eval(), tokenizer


class Touch:
    """Pickled, it is the command to create a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)
