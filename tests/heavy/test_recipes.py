"""docs/recipes.md: each block is run with a model that is trained here, held to the contract, and explained.

A recipe whose package is not installed is skipped: ``make test-all`` has an environment in which none is.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from anchorscope import Explainer
from anchorscope.predictors import as_predictor
from anchorscope.testing import checks

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
RECIPES = dict(re.findall(r"^## (.+?)$.*?```python\n(.*?)```", PAGE.read_text("utf-8"), re.M | re.S))
LABELS = ("negative", "positive")
FILLER = ("the", "film", "was", "about", "a", "dog", "and", "its", "long", "way", "home", "one", "day", "in", "May")

# Packages of others warn of each other; what is tested here is what comes out.
pytestmark = pytest.mark.filterwarnings("ignore")


def reviews() -> list[tuple[str, str]]:
    """Reviews whose label is that of one word."""
    dice = random.Random(0)
    found = []
    for number in range(160):
        label = LABELS[number % 2]
        word = dice.choice({"negative": ["awful", "boring"], "positive": ["great", "lovely"]}[label])
        words = dice.sample(FILLER, 6)
        words.insert(dice.randrange(7), word)
        found.append((" ".join(words), label))
    return found


REVIEWS = reviews()
WORDS = {
    word: number + 2 for number, word in enumerate(sorted({w for text, _ in REVIEWS for w in text.lower().split()}))
}


def spacy_model() -> None:
    spacy = pytest.importorskip("spacy")
    from spacy.training import Example

    nlp = spacy.blank("en")
    nlp.add_pipe("textcat", config={"model": {"@architectures": "spacy.TextCatBOW.v3", "exclusive_classes": True,
                                              "ngram_size": 1, "no_output_layer": False, "length": 4096}})  # fmt: skip
    examples = [
        Example.from_dict(nlp.make_doc(text), {"cats": {label: float(label == own) for label in LABELS}})
        for text, own in REVIEWS
    ]
    nlp.initialize(lambda: examples)
    for _ in range(15):
        for start in range(0, len(examples), 8):
            nlp.update(examples[start : start + 8])
    nlp.to_disk("reviews-textcat")


def fasttext_model() -> None:
    fasttext = pytest.importorskip("fasttext")
    Path("reviews.txt").write_text("\n".join(f"__label__{label} {text}" for text, label in REVIEWS))
    for _ in range(20):  # its trainer meets NaN now and then, whatever the seed and the rate
        with suppress(RuntimeError):
            model = fasttext.train_supervised("reviews.txt", epoch=50, lr=0.5, dim=8, thread=1, verbose=0, seed=0)
            return model.save_model("reviews.bin")
    raise AssertionError("fastText could not be trained in twenty trials")


def setfit_model() -> None:
    pytest.importorskip("setfit")
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer, models
    from setfit import SetFitModel
    from sklearn.linear_model import LogisticRegression

    torch.manual_seed(0)
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])}
    tokenizer = transformers.BertTokenizer(vocab=vocabulary)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    for part in (tokenizer, transformers.BertModel(config)):
        part.save_pretrained("tiny-bert")
    word = models.Transformer("tiny-bert")
    body = SentenceTransformer(modules=[word, models.Pooling(32)], device="cpu")
    head = LogisticRegression(C=1000, max_iter=2000)
    head.fit(body.encode([text for text, _ in REVIEWS], show_progress_bar=False), [label for _, label in REVIEWS])
    SetFitModel(model_body=body, model_head=head, labels=[*LABELS]).save_pretrained("reviews-setfit")


def keras_model() -> None:
    os.environ.setdefault("KERAS_BACKEND", "torch")
    keras = pytest.importorskip("keras")
    import numpy as np

    keras.utils.set_random_seed(0)
    table = np.zeros((len(REVIEWS), 20), np.int64)
    for row, (text, _) in zip(table, REVIEWS):
        numbers = [WORDS[word] for word in text.lower().split()]
        row[: len(numbers)] = numbers
    layers = [
        keras.layers.Input((20,), dtype="int64"),
        keras.layers.Embedding(len(WORDS) + 2, 8),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(2, activation="softmax"),
    ]
    model = keras.Sequential(layers)
    model.compile(optimizer=keras.optimizers.Adam(0.1), loss="sparse_categorical_crossentropy")
    model.fit(table, np.array([LABELS.index(label) for _, label in REVIEWS]), epochs=15, verbose=0)
    model.save("reviews.keras")
    Path("words.json").write_text(json.dumps(WORDS))


def torch_model() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    words = {word: number - 1 for word, number in WORDS.items()}
    bag = torch.nn.Sequential(torch.nn.EmbeddingBag(len(words) + 1, 8), torch.nn.Linear(8, 2))
    rows = torch.tensor([[words[word] for word in text.lower().split()] for text, _ in REVIEWS])
    targets = torch.tensor([LABELS.index(label) for _, label in REVIEWS])
    optimiser = torch.optim.Adam(bag.parameters(), 0.1)
    for _ in range(40):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(bag(rows), targets).backward()
        optimiser.step()
    torch.save(bag.state_dict(), "reviews.pt")
    Path("words.json").write_text(json.dumps(words))


MAKERS: dict[str, Callable[[], None]] = {
    "spaCy": spacy_model,
    "fastText": fasttext_model,
    "SetFit": setfit_model,
    "Keras": keras_model,
    "Plain torch": torch_model,
}


def test_each_recipe_has_a_model() -> None:
    assert {*RECIPES} == {*MAKERS}


@pytest.fixture(scope="module", params=MAKERS)
def predict(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the block of the page defines, run where the model lies."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("recipe"))
    try:
        MAKERS[request.param]()
        names: dict[str, Any] = {}
        exec(compile(RECIPES[request.param], f"{PAGE.name}: {request.param}", "exec"), names)
    finally:
        os.chdir(before)
    return names["predict"]


@pytest.mark.parametrize("check", checks("predictor"), ids=lambda check: check.__name__)
def test_it_passes_the_public_suite(check: Callable[[Any], None], predict: Any) -> None:
    """All but the journey to workers, which a recipe makes as a module: --model recipe:predict."""
    if check.__name__ != "travels_to_workers":
        check(lambda: as_predictor(predict))


def test_the_words_that_were_learnt_come_out(predict: Any) -> None:
    result = Explainer(predict, top_k=5).explain([text for text, _ in REVIEWS])
    assert {"awful", "boring"} & {term.term for term in result["negative"].drivers}
    assert {"great", "lovely"} & {term.term for term in result["positive"].drivers}
    assert {term.term for term in result["positive"].terms[:2]} <= {"great", "lovely"}
