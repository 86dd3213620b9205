"""The perturbators one by one; what they have in common is in contracts/test_perturbator_contract.py."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from anchorscope.errors import InputError, MissingPackageError, ModelFileError
from anchorscope.perturbators import corpus
from anchorscope.perturbators.choose import named_perturbator
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.perturbators.mask_token import MaskTokenPerturbator
from anchorscope.perturbators.masked_lm import MaskedLMPerturbator
from anchorscope.perturbators.windows import Layout, Window, batches_of_windows, windows
from anchorscope.perturbators.wordpieces import WordPieces
from anchorscope.sampling.fills import pick
from anchorscope.text.words import split
from anchorscope.types import Perturbator, Proposals, Words

SENTENCES = ("The cat sat on the mat.", "The dog ran fast!", "A good café film, a good cat", "Don't sat on Paris")

BERT_WORDS = ("the", "a", "cat", "dog", "sat", "ran", "on", "mat", "fast", "good", "film", "don", "t", *".,!'")


def build_bert(folder: Path) -> Path:
    """A DistilBERT with random weights and a lower-case WordPiece vocabulary, which can read 32 pieces."""
    import transformers

    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]")
    vocabulary = (*special, *BERT_WORDS, "##s", "##ing", "##a", "##o")
    numbers = {piece: number for number, piece in enumerate(vocabulary)}
    transformers.BertTokenizerFast(vocab=numbers, do_lower_case=True).save_pretrained(folder)
    shape = {"dim": 16, "hidden_dim": 32, "n_layers": 2, "n_heads": 2, "max_position_embeddings": 32}
    config = transformers.DistilBertConfig(vocab_size=len(vocabulary), pad_token_id=0, **shape)
    return _save_random(transformers.DistilBertForMaskedLM(config), folder)


def build_roberta(folder: Path) -> Path:
    """A RoBERTa with random weights and a cased byte-level BPE vocabulary, which can read 34 - 2 = 32 pieces."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    special = {
        "cls_token": "<s>",
        "pad_token": "<pad>",
        "sep_token": "</s>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    }
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(special.values()),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator([f" {sentence}" for sentence in SENTENCES * 5], trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **special)
    tokenizer.save_pretrained(folder)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=34, pad_token_id=1, bos_token_id=0, eos_token_id=2, **shape
    )
    return _save_random(transformers.RobertaForMaskedLM(config), folder)


def _save_random(model: Any, folder: Path) -> Path:
    """Weights large enough that the proposals depend on the context, the same every time."""
    import torch
    from transformers.utils import logging

    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.normal_(0, 0.5, generator=generator)
    logging.disable_progress_bar()
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_roberta(tmp_path_factory.mktemp("roberta"))


def masked_at(text: Words, *positions: int) -> NDArray[np.bool_]:
    return np.isin(np.arange(len(text)), positions)


def rows_of(perturbator: Perturbator, proposals: Proposals) -> list[dict[str, float]]:
    """Each row as word -> probability."""
    return [
        {perturbator.vocabulary[w]: float(p) for w, p in zip(words, probabilities, strict=True) if p > 0}
        for words, probabilities in zip(proposals.words, proposals.probabilities, strict=True)
    ]


def test_importing_the_perturbators_loads_no_heavy_package() -> None:
    code = (
        "import sys; from anchorscope.perturbators import corpus, embedded, mask_token, masked_lm; "
        "print({'torch', 'transformers', 'onnxruntime'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


class TestMaskToken:
    def test_every_masked_word_becomes_the_token(self) -> None:
        text = split("not bad at all")
        perturbator = MaskTokenPerturbator("UNKWORDZ")
        assert rows_of(perturbator, perturbator.propose([text], [masked_at(text, 0, 2)])) == [{"UNKWORDZ": 1.0}] * 2

    def test_the_default_removes(self) -> None:
        assert tuple(MaskTokenPerturbator().vocabulary) == ("",)

    @pytest.mark.parametrize("token", ["", "UNK", "a:b", "[MASK]"])
    def test_its_name_makes_it_again(self, token: str) -> None:
        """A kept run knows the name only."""
        made = MaskTokenPerturbator(token)
        again = named_perturbator(made.name, top_n=50)
        assert (again.name, again.vocabulary, again.fingerprint) == (made.name, (token,), made.fingerprint)


class TestCorpus:
    """Three documents, "a b", "a c" and "a b.": a 3, b 2, c 1 and . 1 of 7 words.

    After the start: a 3 of 3, u = 1/4.    After a: b 2 and c 1 of 3, u = 2/5.    After b: . 1 of 1, u = 1/2.
    Before the end: b, c and . 1 of 3 each, u = 3/6.    Before the full stop: b 1 of 1, u = 1/2.
    """

    DOCUMENTS = tuple(split(text) for text in ("a b", "a c", "a b."))

    @pytest.fixture
    def perturbator(self) -> CorpusPerturbator:
        perturbator = CorpusPerturbator(top_n=12)
        perturbator = perturbator.fit(self.DOCUMENTS)
        return perturbator

    def propose(self, perturbator: CorpusPerturbator, text: str, *positions: int) -> list[dict[str, float]]:
        words = split(text)
        return rows_of(perturbator, perturbator.propose([words], [masked_at(words, *positions)]))

    def test_one_half_comes_from_each_side(self, perturbator: CorpusPerturbator) -> None:
        """Between a and the full stop: b has (3/5 · 2/3 + 1/2) / 2 of its own, unsaid is (2/5 + 1/2) / 2 = 0.45."""
        (row,) = self.propose(perturbator, "a b.", 1)
        expected = {"a": 0.45 * 3 / 7, "b": 0.45 + 0.45 * 2 / 7, "c": 0.1 + 0.45 / 7, ".": 0.45 / 7}
        assert row == pytest.approx(expected, abs=1e-6)

    def test_the_ends_of_a_document_are_neighbours_too(self, perturbator: CorpusPerturbator) -> None:
        """Alone in a document: a from the start, b, c or . from the end; the unsaid is (1/4 + 1/2) / 2 = 0.375."""
        (row,) = self.propose(perturbator, "a", 0)
        expected = {
            "a": 3 / 8 + 0.375 * 3 / 7,
            "b": 1 / 12 + 0.375 * 2 / 7,
            "c": 1 / 12 + 0.375 / 7,
            ".": 1 / 12 + 0.375 / 7,
        }
        assert row == pytest.approx(expected, abs=1e-6)

    def test_masked_and_unseen_neighbours_say_nothing(self, perturbator: CorpusPerturbator) -> None:
        unigrams = pytest.approx({"a": 3 / 7, "b": 2 / 7, "c": 1 / 7, ".": 1 / 7}, abs=1e-6)
        assert self.propose(perturbator, "a b.", 0, 1, 2)[1] == unigrams
        assert self.propose(perturbator, "xyz b xyz", 1) == [unigrams]

    def test_each_source_is_cut_to_its_most_frequent_words(self) -> None:
        """With one word each: b after a, b before the full stop, a of all; ties go to the word that sorts first."""
        perturbator = CorpusPerturbator(top_n=3)
        perturbator = perturbator.fit(self.DOCUMENTS)
        assert self.propose(perturbator, "a b.", 1) == [pytest.approx({"b": 0.55, "a": 0.45}, abs=1e-6)]
        assert self.propose(perturbator, "xyz b", 1) == [pytest.approx({".": 0.25, "a": 0.75}, abs=1e-6)]

    def test_capitals_do_not_matter(self, perturbator: CorpusPerturbator) -> None:
        capitals = CorpusPerturbator(top_n=12)
        capitals = capitals.fit([split(text) for text in ("A b", "a C", "A B.")])
        assert capitals.fingerprint == perturbator.fingerprint
        assert self.propose(capitals, "A b.", 1) == self.propose(perturbator, "a b.", 1)

    def test_words_keep_their_spelling(self) -> None:
        perturbator = CorpusPerturbator()
        perturbator = perturbator.fit([split("Die Straße"), split("Ο ΔΡΌΜΟΣ")])
        assert {"straße", "δρόμος"} <= set(perturbator.vocabulary)

    @settings(max_examples=50, deadline=None)
    @given(
        st.lists(st.lists(st.sampled_from("abcd.é"), max_size=6), min_size=1, max_size=12).filter(any),
        st.randoms(use_true_random=False),
        st.sampled_from([5, 10_000_000]),
    )
    def test_the_order_of_the_documents_does_not_matter(self, lists: list[list[str]], random: Any, most: int) -> None:
        texts = [Words(tuple(words), ("",) * (len(words) + 1)) for words in lists]
        fingerprints = set()
        for _ in range(3):
            random.shuffle(texts)
            perturbator = CorpusPerturbator(top_n=6)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(corpus, "MOST_WORDS", most)
                perturbator = perturbator.fit(texts)
            fingerprints.add(perturbator.fingerprint)
        assert len(fingerprints) == 1

    def test_a_large_collection_is_sampled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of 100 documents of two words of their own, 15 have at most 30 words."""
        monkeypatch.setattr(corpus, "MOST_WORDS", 30)
        perturbator = CorpusPerturbator()
        perturbator = perturbator.fit([split(f"left{i} right{i}") for i in range(100)])
        assert len(perturbator.vocabulary) == 30

    def test_the_fingerprint_follows_the_documents_and_the_number_of_proposals(
        self, perturbator: CorpusPerturbator
    ) -> None:
        fingerprints = {perturbator.fingerprint}
        for top_n, documents in ((12, self.DOCUMENTS[:2]), (15, self.DOCUMENTS)):
            other = CorpusPerturbator(top_n=top_n)
            other = other.fit(documents)
            fingerprints.add(other.fingerprint)
        assert len(fingerprints) == 3

    def test_it_must_be_fitted_first(self) -> None:
        with pytest.raises(InputError, match=r"call fit\(texts\) before propose"):
            CorpusPerturbator().propose([split("a b")], [np.array([True, False])])

    def test_documents_without_words_teach_nothing(self) -> None:
        with pytest.raises(InputError, match="no word at all"):
            CorpusPerturbator().fit([split(" ")])

    def test_too_few_proposals_are_refused(self) -> None:
        with pytest.raises(InputError, match="top_n is 2"):
            CorpusPerturbator(top_n=2)


class TestWordPieces:
    NUMBERS = MappingProxyType({"[UNK]": 0, "play": 1, "##ing": 2, "##i": 3, "##n": 4, "don't": 5, "é": 6})

    @pytest.mark.parametrize(
        ("word", "pieces"),
        [
            ("play", [1]),
            ("PlayING", [1, 2]),
            ("playin", [1, 3, 4]),
            ("played", [0]),
            ("ing", [0]),
            ("Don’t", [5]),
            ("e\u0301", [6]),
            ("play" + "n" * 96, [1] + [4] * 96),
            ("play" + "n" * 97, [0]),
        ],
    )
    def test_the_longest_piece_is_taken_first(self, word: str, pieces: list[int]) -> None:
        assert WordPieces(self.NUMBERS)[word] == pieces

    def test_agrees_with_the_tokenizers_library(self) -> None:
        from tokenizers import Tokenizer, models

        reference = Tokenizer(models.WordPiece(dict(self.NUMBERS), unk_token="[UNK]", max_input_chars_per_word=100))
        pieces = WordPieces(self.NUMBERS)
        for word in ("play", "playing", "playini", "inplay", "playinging", "x", "don't"):
            assert pieces[word] == reference.encode(word).ids


class TestWindows:
    LAYOUT = Layout(pad=0, begin=2, end=3, mask=4, max_pieces=20)

    def windows(self, *lengths: int, every: int = 1) -> list[Window]:
        texts = [["w"] * length for length in lengths]
        masks = [np.arange(length) % every == 0 for length in lengths]
        return list(windows(texts, masks, {"w": [9]}, self.LAYOUT))

    @pytest.mark.parametrize("length", [1, 17, 18, 19, 26, 27, 28, 100, 1000])
    def test_every_mask_is_answered_once_with_context_on_both_sides(self, length: int) -> None:
        """18 pieces fit beside begin and end; a window reaches 4 pieces beyond its block unless the text ends there."""
        found = self.windows(length)
        assert [row for window in found for row in self.rows(window)] == list(range(length))
        for window in found:
            assert len(window.pieces) <= 20
            for row, column in zip(self.rows(window), window.masked, strict=True):
                assert min(row, 4) < column
                assert min(length - 1 - row, 4) < len(window.pieces) - 1 - column

    def rows(self, window: Window) -> range:
        return range(window.first_row, window.first_row + len(window.masked))

    def test_a_text_without_masks_is_not_read(self) -> None:
        assert list(windows([["w"]], [np.array([False])], {"w": [9]}, self.LAYOUT)) == []

    def test_batches_hold_windows_of_one_padded_length(self) -> None:
        """3 and 14 words make 5 and 16 pieces: padded to 16; 15 words make 17: padded to 32, but 20 is the most."""
        short, long = batches_of_windows(self.windows(15, 3, 14, every=3), self.LAYOUT, 64)
        assert short.pieces.shape == (2, 16) and long.pieces.shape == (1, 20)
        assert short.attention.sum(axis=1).tolist() == [5, 16]
        assert short.pieces.ravel()[short.masked].tolist() == [4] * 6
        assert short.rows.tolist() == [5, 6, 7, 8, 9, 10] and long.rows.tolist() == [0, 1, 2, 3, 4]

    def test_a_smaller_padding_step_pads_less(self) -> None:
        """3, 6 and 7 words make 5, 8 and 9 pieces: padded to 8, 8 and 12 in steps of 4."""
        layout = Layout(pad=0, begin=2, end=3, mask=4, max_pieces=20, padding_step=4)
        assert [batch.pieces.shape for batch in batches_of_windows(self.windows(7, 3, 6), layout, 64)] == [
            (2, 8),
            (1, 12),
        ]

    def test_a_batch_of_long_windows_is_smaller(self) -> None:
        """Four windows of 64 pieces are as large as two of 128."""
        layout = Layout(pad=0, begin=2, end=3, mask=4, max_pieces=128)
        found = windows([["w"] * 126] * 5, [np.arange(126) == 0] * 5, {"w": [9]}, layout)
        assert [len(batch.pieces) for batch in batches_of_windows(found, layout, 4)] == [2, 2, 1]


class TestMaskedLM:
    def test_wordpieces_that_are_whole_words_are_proposed(self, bert: Path) -> None:
        perturbator = MaskedLMPerturbator(bert)
        assert perturbator.vocabulary == BERT_WORDS
        assert not perturbator.cased

    def test_byte_level_pieces_after_a_space_are_proposed_and_punctuation(self, roberta: Path) -> None:
        perturbator = MaskedLMPerturbator(roberta)
        assert {"cat", "café", "The", "Paris", ".", "!", ","} <= set(perturbator.vocabulary)
        assert len(set(perturbator.vocabulary)) == len(perturbator.vocabulary)
        assert all(split(word).words == (word,) and word != "\ufffd" for word in perturbator.vocabulary)
        assert not {"<s>", "<mask>", "Ġ"} & set(perturbator.vocabulary)
        assert perturbator.cased

    def test_sentencepieces_after_a_space_are_proposed_and_punctuation(self, tmp_path: Path) -> None:
        """The mask, ▁ alone, the pieces s and cat (inside a word) and ▁. (set off) are no words."""
        import transformers
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers

        from anchorscope.perturbators.masked_lm import _whole_words

        pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "▁the", "▁cat", ".", "▁", "s", "cat", "▁."]
        backend = Tokenizer(models.Unigram([(piece, -1.0) for piece in pieces], unk_id=3))
        backend.pre_tokenizer, backend.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, mask_token="<mask>")
        assert _whole_words(tokenizer) == {5: "the", 6: "cat", 7: "."}

    @pytest.mark.parametrize(
        ("model", "written"),
        [("bert", "[CLS] the [MASK] sat on a mat. [SEP]"), ("roberta", "<s> The<mask> sat on a mat.</s>")],
    )
    def test_the_probabilities_are_those_of_the_model(
        self, model: str, written: str, request: pytest.FixtureRequest
    ) -> None:
        """Against transformers by itself: the whole text at once, softmax over all pieces, then only the words."""
        import torch
        import transformers

        folder = request.getfixturevalue(model)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        ids = torch.tensor([tokenizer.encode(written, add_special_tokens=False)])
        with torch.inference_mode():
            logits = transformers.AutoModelForMaskedLM.from_pretrained(folder)(input_ids=ids).logits
        scores = logits[0, ids[0].tolist().index(tokenizer.mask_token_id)].softmax(-1)
        perturbator = MaskedLMPerturbator(folder, top_n=5)
        text = split("The cat sat on a mat.")
        (row,) = rows_of(perturbator, perturbator.propose([text], [masked_at(text, 1)]))
        expected = {}
        for word in perturbator.vocabulary:
            (piece,) = tokenizer.encode(f" {word}" if word.isalnum() else word, add_special_tokens=False)
            expected[word] = float(scores[piece])
        best = dict(sorted(expected.items(), key=lambda item: -item[1])[:5])
        total = sum(best.values())
        assert row == pytest.approx({word: p / total for word, p in best.items()}, abs=1e-5)

    def test_the_head_sees_masked_positions_only(self, bert: Path) -> None:
        perturbator = MaskedLMPerturbator(bert)
        shapes: list[tuple[int, ...]] = []
        perturbator._model.register_forward_hook(lambda module, inputs, output: shapes.append(output.logits.shape))
        text = split("The cat sat on the mat.")
        perturbator.propose([text, text], [masked_at(text, 1, 2), masked_at(text, 3)])
        assert shapes == [(1, 3, 27)]

    @pytest.mark.parametrize("model", ["bert", "roberta"])
    def test_a_long_text_is_read_by_windows(self, model: str, request: pytest.FixtureRequest) -> None:
        """30 pieces fit beside begin and end, a block is 15: piece 40 is read from 30 - 7 = 23 on, to 52."""
        perturbator = MaskedLMPerturbator(request.getfixturevalue(model))
        text = split(" the cat sat on" * 15)
        part = split(" on" + " the cat sat on" * 7 + " the")
        assert part.words == text.words[23:53]
        whole = perturbator.propose([text], [masked_at(text, 40)])
        alone = perturbator.propose([part], [masked_at(part, 17)])
        np.testing.assert_array_equal(whole.words, alone.words)
        np.testing.assert_allclose(whole.probabilities, alone.probabilities, atol=1e-6)

    @pytest.mark.parametrize("model", ["bert", "roberta"])
    def test_what_it_draws_by_itself_is_what_is_picked_from_its_proposals(
        self, model: str, request: pytest.FixtureRequest
    ) -> None:
        perturbator = MaskedLMPerturbator(request.getfixturevalue(model), top_n=9, batch_size=2)
        texts = [split(text) for text in ("the dog barked at the cat", "a cat", "the film the film was bad, the dog!")]
        masks = [masked_at(texts[0], 1, 3, 5), masked_at(texts[1], 0), masked_at(texts[2], 0, 2, 4, 6)]
        rows = np.array([7, 0, 0, 3, 5, 2, 2, 2])
        chances = np.linspace(0.01, 0.99, len(rows))
        picked = pick(perturbator.propose(texts, masks), rows, chances)
        drawn = perturbator.draw(texts, masks, rows, chances)
        assert drawn.dtype == np.int32 and drawn.tolist() == picked.tolist()
        assert len({*drawn.tolist()}) > 1

    def test_it_travels_as_its_folder(self, bert: Path) -> None:
        perturbator = MaskedLMPerturbator(bert, top_n=7, batch_size=3)
        payload = pickle.dumps(perturbator)
        assert len(payload) < 1000
        copy = pickle.loads(payload)
        assert (copy.folder, copy.top_n, copy.batch_size, copy.device) == (bert, 7, 3, "cpu")

    def test_the_fingerprint_follows_the_weights_and_the_number_of_proposals(self, bert: Path, roberta: Path) -> None:
        perturbators = [MaskedLMPerturbator(bert), MaskedLMPerturbator(bert, top_n=5), MaskedLMPerturbator(roberta)]
        assert len({perturbator.fingerprint for perturbator in perturbators}) == 3

    def test_a_missing_folder_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ModelFileError, match=r"There is no folder .*nowhere"):
            MaskedLMPerturbator(tmp_path / "nowhere")

    def test_a_folder_of_something_else_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ModelFileError, match=r"no config\.json"):
            MaskedLMPerturbator(tmp_path)

    @pytest.mark.parametrize(
        ("weights", "message"),
        [("pytorch_model.bin", "can run any code"), ("model.h5", "holds no weights; expected model.safetensors")],
    )
    def test_other_weights_are_refused(self, weights: str, message: str, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text("{}")
        (tmp_path / weights).touch()
        with pytest.raises(ModelFileError, match=message):
            MaskedLMPerturbator(tmp_path)

    def test_a_broken_folder_is_refused(self, bert: Path, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text((bert / "config.json").read_text())
        (tmp_path / "model.safetensors").write_bytes(b"not weights")
        with pytest.raises(ModelFileError, match=r"model.safetensors' cannot be read as safetensors \(\w"):
            MaskedLMPerturbator(tmp_path)
        (tmp_path / "model.safetensors").write_bytes((bert / "model.safetensors").read_bytes())
        (tmp_path / "config.json").write_text('{"model_type": "nothing"}')
        with pytest.raises(ModelFileError, match=r"cannot be read as a masked language model \(\w"):
            MaskedLMPerturbator(tmp_path)

    def test_a_classifier_is_no_masked_language_model(self, bert: Path, tmp_path: Path) -> None:
        import transformers

        config = transformers.AutoConfig.from_pretrained(bert)
        transformers.DistilBertForSequenceClassification(config).save_pretrained(tmp_path)
        transformers.AutoTokenizer.from_pretrained(bert).save_pretrained(tmp_path)
        with pytest.raises(ModelFileError, match="holds no masked language model"):
            MaskedLMPerturbator(tmp_path)

    def test_missing_packages_are_named(self, bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "transformers", None)
        with pytest.raises(MissingPackageError, match=r"'transformers' .*anchorscope\[huggingface\]"):
            MaskedLMPerturbator(bert)

    def test_no_proposals_cannot_be_asked_for(self, bert: Path) -> None:
        with pytest.raises(InputError, match="top_n is 0"):
            MaskedLMPerturbator(bert, top_n=0)


def test_the_corpus_draws_what_it_proposes() -> None:
    """Pairs of neighbours are looked up once, and every row gets the word that its own chance falls on."""
    texts = [split(text) for text in ("a good film and a bad cast", "the good cast of a film", "bad and good and bad")]
    fitted = CorpusPerturbator(top_n=9).fit(texts)
    chances = np.random.default_rng(5)
    masks = [chances.random(len(text)) < 0.7 for text in texts for _ in range(20)]
    asked = [text for text in texts for _ in range(20)]
    rows = chances.permutation(np.repeat(np.arange(sum(int(mask.sum()) for mask in masks)), 2))
    where = chances.random(len(rows))
    expected = pick(fitted.propose(asked, masks), rows, where)
    assert fitted.draw(asked, masks, rows, where).tolist() == expected.tolist()
