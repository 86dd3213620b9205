"""A Hugging Face folder through torch.compile: machine code is made of it, and it answers as before."""

from __future__ import annotations

from pathlib import Path
from shutil import which

import numpy as np
import pytest
from heavy.test_recipes import REVIEWS, WORDS

from anchorscope.predictors.huggingface import HuggingFacePredictor

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.skipif(which("g++") is None, reason="torch compiles with a C++ compiler")
def test_a_compiled_folder_answers_as_before(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = {word: number for number, word in enumerate([*special, *WORDS])}
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    )
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path)
    transformers.BertTokenizerFast(vocab=words).save_pretrained(tmp_path)
    texts = [text for text, _ in REVIEWS] + [" ".join(text for text, _ in REVIEWS[:9])]
    plain, compiled = (HuggingFacePredictor.from_folder(tmp_path, compiled=compiled) for compiled in (False, True))
    assert np.allclose(plain.predict(texts), compiled.predict(texts), atol=1e-5)
