"""Hugging Face folders of many architectures and tokenizers: tiny ones with random weights, each written here.

The answers are those of a loop by hand, text by text with the folder's own tokenizer, whatever the batches: so padding,
masks, special tokens and the cut at the longest input are right for each of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anchorscope import Explainer
from anchorscope.errors import InputError
from anchorscope.predictors import as_predictor, load_predictor
from anchorscope.predictors.huggingface import HuggingFacePredictor
from anchorscope.testing import checks

transformers = pytest.importorskip("transformers")

# DeBERTa's module, as transformers has it, is compiled by a function that torch is about to drop.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

TEXTS = [
    "a great film",
    "bad",
    "not a great film at all, is it?",
    "an unbelievably bad film " * 4,
    "",
    "Éclair 2024 🙂 #great",
    "one two three four five six seven eight nine ten " * 12,  # longer than any of them reads
]
LONGEST = 64

SIZES: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
    "max_position_embeddings": LONGEST, "initializer_range": 0.6,
}  # fmt: skip

# The names that a configuration has for its sizes, where they are others.
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("wordpiece", SIZES),
    "electra": ("wordpiece", {**SIZES, "embedding_size": 16}),
    "distilbert": (
        "wordpiece",
        {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "max_position_embeddings": LONGEST,
         "initializer_range": 0.6},
    ),
    "mpnet": ("wordpiece", {**SIZES, "max_position_embeddings": LONGEST + 2}),
    "roberta": ("bpe", {**SIZES, "max_position_embeddings": LONGEST + 2}),
    "gpt2": (
        "bpe",
        {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": LONGEST, "initializer_range": 0.6},
    ),
    "deberta": ("bpe", SIZES),
    "albert": ("unigram", {**SIZES, "embedding_size": 16}),
    "deberta-v2": ("unigram", SIZES),
    "xlm-roberta": ("unigram", {**SIZES, "max_position_embeddings": LONGEST + 2}),
    "xlnet": (
        "unigram",
        {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32, "initializer_range": 0.6},
    ),
    # These read past the mask: FNet has none, and a convolution takes in what stands beside a piece.
    "fnet": ("unigram", {name: size for name, size in SIZES.items() if name != "num_attention_heads"}),
    "convbert": ("wordpiece", {**SIZES, "embedding_size": 16, "initializer_range": 0.3}),
}  # fmt: skip

SEES_PADDING = ("convbert", "fnet")

SPECIAL = {
    "pad_token": "<pad>",
    "unk_token": "<unk>",
    "cls_token": "<cls>",
    "sep_token": "<sep>",
    "mask_token": "<mask>",
}


def tokenizer_of(kind: str, architecture: str) -> Any:
    """A tokenizer of this kind, trained on the texts; XLNet puts what marks a text behind it, and pads on the left."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    special = [*SPECIAL.values()]
    options = {"vocab_size": 120, "special_tokens": special, "show_progress": False}
    if kind == "wordpiece":
        engine = Tokenizer(models.WordPiece(unk_token="<unk>"))
        engine.normalizer = normalizers.BertNormalizer()
        engine.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer: Any = trainers.WordPieceTrainer(**options)
    elif kind == "bpe":
        engine = Tokenizer(models.BPE())
        engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        engine.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            **{**options, "vocab_size": 400}, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
        )
    else:
        engine = Tokenizer(models.Unigram())
        engine.normalizer = normalizers.NFKC()
        engine.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(**options, unk_token="<unk>")
    engine.train_from_iterator(TEXTS, trainer)
    behind = architecture == "xlnet"
    if architecture != "gpt2":
        template = "$A:0 <sep>:0 <cls>:2" if behind else "<cls>:0 $A:0 <sep>:0"
        numbers = [(token, engine.token_to_id(token)) for token in ("<cls>", "<sep>")]
        engine.post_processor = processors.TemplateProcessing(single=template, special_tokens=numbers)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=engine, model_max_length=LONGEST, padding_side="left" if behind else "right", **SPECIAL
    )


def folder_of(architecture: str, folder: Path) -> Path:
    import torch

    kind, sizes = ARCHITECTURES[architecture]
    tokenizer = tokenizer_of(kind, architecture)
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(
        architecture,
        vocab_size=len(tokenizer),
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
        id2label={0: "bad", 1: "fair", 2: "good"},
        **sizes,
    )
    model = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    for part in (model, tokenizer):
        part.save_pretrained(folder / architecture)
    return folder / architecture


def by_hand(folder: Path, texts: list[str]) -> np.ndarray[Any, Any]:
    """The softmax of the logits, text by text."""
    import torch

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    rows = []
    with torch.no_grad():
        for text in texts:
            inputs = tokenizer(text, truncation=True, max_length=LONGEST, return_tensors="pt")
            if not inputs["input_ids"].shape[1]:
                inputs = tokenizer(tokenizer.pad_token, return_tensors="pt")
                inputs["attention_mask"][:] = 0
            taken = inspect.signature(model.forward).parameters
            rows.append(
                model(**{name: inputs[name] for name in inputs if name in taken})
                .logits.double()
                .softmax(dim=-1)
                .numpy()[0]
            )
    return np.stack(rows)


@pytest.fixture(scope="module", params=ARCHITECTURES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(request.param, tmp_path_factory.mktemp("models"))


def test_its_answers_are_those_of_a_loop_by_hand(folder: Path) -> None:
    predictor = load_predictor(str(folder))
    full = [text for text in TEXTS if text]  # what a model says of no piece at all is its own affair
    expected = by_hand(folder, full)
    assert len(np.unique(expected.round(3), axis=0)) > 3  # random, but not the same whatever is read
    for size in (1, 3, 32):
        batched = HuggingFacePredictor.from_folder(folder, batch_size=size)
        assert np.allclose(batched.predict(full), expected, atol=2e-5), size
    assert predictor.labels == ("bad", "fair", "good")


def test_a_text_is_answered_alike_alone_and_in_a_batch_of_a_pipeline(folder: Path) -> None:
    full = [text for text in TEXTS if text]
    expected = by_hand(folder, full)
    predictor = as_predictor(transformers.pipeline("text-classification", model=str(folder), device="cpu"))
    assert np.allclose(predictor.predict(full), expected, atol=2e-5)


@pytest.mark.parametrize("architecture", SEES_PADDING)
def test_gradients_of_a_text_do_not_depend_on_the_texts_beside_it(architecture: str, tmp_path: Path) -> None:
    predictor = HuggingFacePredictor.from_folder(folder_of(architecture, tmp_path))
    (_, alone), (_, beside) = (gradients(predictor, some) for some in (TEXTS[:1], TEXTS[:4]))
    assert np.allclose(alone[0], beside[0][: len(alone[0])], atol=1e-5)
    assert not beside[0][len(alone[0]) :].any()  # padding has no part in it


def gradients(predictor: HuggingFacePredictor, texts: list[str]) -> tuple[Any, Any]:
    """The probabilities of the first label, and what they owe to each number of the embeddings."""
    import torch

    given = predictor.differentiable(texts, 1)
    embeddings = given.embeddings.clone().requires_grad_()
    answers = given.forward(embeddings, *given.rest)[:, 0]
    return answers.detach().numpy(), torch.autograd.grad(answers.sum(), embeddings)[0].numpy()


def test_a_model_that_cannot_read_a_short_text_is_refused_when_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nystromformer divides its pieces into segments, and reads 64 pieces here or none."""
    sizes = {**SIZES, "num_landmarks": 4, "segment_means_seq_len": LONGEST}
    monkeypatch.setitem(ARCHITECTURES, "nystromformer", ("wordpiece", sizes))
    folder = folder_of("nystromformer", tmp_path)
    with pytest.raises(InputError, match=r"nystromformer fails on a text of five words \(.*name a function that fills"):
        load_predictor(str(folder))


@pytest.mark.parametrize("check", checks("predictor"), ids=lambda check: check.__name__)
def test_it_passes_the_public_suite(check: Callable[[Any], None], folder: Path) -> None:
    check(lambda: load_predictor(str(folder)))


def test_it_is_explained(folder: Path) -> None:
    texts = [
        f"a {word} {thing} {number}" for word in ("great", "bad") for thing in ("film", "day") for number in range(3)
    ]
    result = Explainer(load_predictor(str(folder)), settings={"min_occurrences": 1}, max_model_calls=200).explain(texts)
    assert sum(explanation.documents for explanation in result.explanations.values()) == len(texts)
