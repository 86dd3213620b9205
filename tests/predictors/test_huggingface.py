"""Hugging Face's models: folders, pipelines, and what they read of a long text."""

from __future__ import annotations

import json
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from small_models import LABELS, TEXTS, WORDS, Touch, tiny_bert

from anchorscope import Explainer
from anchorscope.errors import InputError, MissingPackageError, ModelFileError
from anchorscope.predictors import as_predictor, encoding, load_predictor
from anchorscope.predictors.encoding import Reach
from anchorscope.predictors.huggingface import HuggingFacePredictor, PipelinePredictor
from anchorscope.types import Spelled


class TestHuggingFace:
    def test_a_folder_answers_as_the_bare_model(self, bert_folder: Path) -> None:
        """Against one text at a time, without padding, sorting or batches of ours."""
        import torch

        rng = np.random.default_rng(0)
        texts = [" ".join(rng.choice(WORDS[5:], size=rng.integers(0, 12))) for _ in range(70)]
        model, tokenizer = tiny_bert()
        with torch.inference_mode():
            expected = [
                model(**tokenizer(t, return_tensors="pt")).logits.double().softmax(-1)[0].numpy() for t in texts
            ]
        predictor = load_predictor(str(bert_folder))
        assert (predictor.name, predictor.labels, predictor.has_probabilities) == ("tiny-bert", ("bad", "good"), True)
        assert np.allclose(predictor.predict(texts), expected, atol=1e-6)
        assert np.ptp(expected) > 0.5

    def test_a_pipeline_answers_the_same(self, bert_folder: Path) -> None:
        import transformers

        texts = [*TEXTS, "great " * 100, "", "lone \ud800 surrogate"]
        model, tokenizer = tiny_bert()
        predictor = as_predictor(transformers.pipeline("text-classification", model=model, tokenizer=tokenizer))
        assert isinstance(predictor, PipelinePredictor)
        assert predictor.labels == ("bad", "good")
        assert np.allclose(predictor.predict(texts), load_predictor(str(bert_folder)).predict(texts), atol=1e-6)

    def test_settings_of_a_pipeline_stay(self) -> None:
        import transformers

        model, tokenizer = tiny_bert()
        short = transformers.pipeline(
            "text-classification", model=model, tokenizer=tokenizer, truncation=True, max_length=3
        )
        same = as_predictor(short).predict(["great film film", "great bad bad"])
        assert np.allclose(same[0], same[1], atol=1e-6)

    def test_other_pipelines_are_refused(self) -> None:
        import transformers

        model, tokenizer = tiny_bert("BertForMaskedLM")
        with pytest.raises(InputError, match="pipeline for fill-mask; expected one for text-classification"):
            as_predictor(transformers.pipeline("fill-mask", model=model, tokenizer=tokenizer))

    @pytest.mark.parametrize("longest", [-5, 0, 2, "many"])
    def test_a_longest_input_without_a_word_is_refused(self, longest: Any, bert_folder: Path, tmp_path: Path) -> None:
        """[CLS], a word and [SEP] are three tokens."""
        folder = shutil.copytree(bert_folder, tmp_path / "model")
        path = folder / "tokenizer_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "model_max_length": longest}))
        with pytest.raises(InputError, match=r"longest input of .* tokens, and the shortest one with a word has 3"):
            load_predictor(str(folder))

    def test_it_travels_as_its_path(self, bert_folder: Path) -> None:
        predictor = HuggingFacePredictor.from_folder(bert_folder, labels=["down", "up"], batch_size=2)
        luggage = pickle.dumps(predictor)
        assert len(luggage) < 2000
        arrived = pickle.loads(luggage)
        assert (arrived.labels, arrived.batch_size) == (("down", "up"), 2)
        assert np.array_equal(arrived.predict(TEXTS), predictor.predict(TEXTS))

    def test_a_folder_that_changed_on_the_way_is_refused(self, tmp_path: Path) -> None:
        for part in tiny_bert():
            part.save_pretrained(tmp_path)
        luggage = pickle.dumps(HuggingFacePredictor.from_folder(tmp_path))
        (tmp_path / "vocab.txt").write_text("another")
        with pytest.raises(ModelFileError, match="has changed since the run began"):
            pickle.loads(luggage)

    def test_roberta_holds_fewer_tokens_than_positions(self) -> None:
        """18 positions, counted from padding_idx + 1 = 2: 16 tokens, though the tokenizer knows no limit."""
        import transformers

        words = ["[UNK]", "[PAD]", *WORDS[2:]]
        tokenizer = transformers.BertTokenizer(vocab={word: i for i, word in enumerate(words)})
        config = transformers.RobertaConfig(
            vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
            max_position_embeddings=18, type_vocab_size=2, pad_token_id=1,
        )  # fmt: skip
        predictor = HuggingFacePredictor(transformers.RobertaForSequenceClassification(config), tokenizer)
        assert predictor.encode(["great " * 100, "bad"])["input_ids"].shape == (2, 16)
        assert predictor.predict(["great " * 100, "bad"]).shape == (2, 2)

    @pytest.mark.parametrize(
        ("n_cores", "parallel", "by_stretch"), [(2, "true", True), (64, "true", False), (64, "false", True)]
    )
    def test_the_short_way_to_pieces_is_the_usual_one(
        self, n_cores: int, parallel: str, by_stretch: bool, monkeypatch
    ) -> None:
        """Asked directly, the engine of a tokenizer gives the numbers and the padding that transformers gives."""
        monkeypatch.setattr("os.cpu_count", lambda: n_cores)
        monkeypatch.setenv("TOKENIZERS_PARALLELISM", parallel)
        _, tokenizer = tiny_bert()
        truncation = {"truncation": True, "max_length": 8}
        short = encoding.encoder(tokenizer, truncation)
        assert isinstance(short, encoding.Direct) and short._by_stretch == by_stretch

        @settings(max_examples=100, deadline=None)
        @given(
            st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40), min_size=1, max_size=4)
        )
        @example(["great", "", "a bad  bad film , really ? !", "film " * 20, "a[MASK]b\tc\x1cd\u3000e \u0301 \x00"])
        def compare(texts: list[str]) -> None:
            usual = tokenizer(texts, padding=True, return_tensors="pt", **truncation)
            for name, tensor in short(texts).items():
                assert tensor.tolist() == usual[name].tolist(), name

        compare()

    def test_spelled_texts_have_the_pieces_of_the_written_ones(self) -> None:
        """Whatever their stretches are; in batches of 2, those of like length together, each text once."""
        _, tokenizer = tiny_bert()
        truncation = {"truncation": True, "max_length": 8}
        encode = encoding.encoder(tokenizer, truncation)

        @settings(max_examples=100, deadline=None)
        @given(
            st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=5),
            st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=12), min_size=1, max_size=5),
        )
        @example(["great", "", "film,", "a\u0301\n", "[MASK]"], [[0, 1, 2], [1], [2, 4, 3, 0, 0, 0, 0], [3]])
        def compare(stretches: list[str], rows: list[list[int]]) -> None:
            numbers = [np.array(row, np.int32) % len(stretches) for row in rows]
            texts = Spelled(stretches, [row.astype(np.int32).tobytes() for row in numbers])
            asked = []
            for batch, inputs in encoding.batches(encode, texts, 2):
                usual = tokenizer([texts[i] for i in batch.tolist()], padding=True, return_tensors="pt", **truncation)
                for name, tensor in inputs.items():
                    assert tensor.tolist() == usual[name].tolist(), name
                asked += batch.tolist()
            assert sorted(asked) == list(range(len(rows)))

        compare()

    @pytest.mark.parametrize("spells", [True, False])
    def test_what_is_begun_is_what_is_predicted(self, spells: bool) -> None:
        """Also where the tokenizer must see whole texts, here because it pads on the left."""
        model, tokenizer = tiny_bert()
        tokenizer.padding_side = "right" if spells else "left"
        predictor = HuggingFacePredictor(model, tokenizer, batch_size=2)
        assert isinstance(predictor.encode, encoding.Direct) == spells
        spelled = encoding._spelled(TEXTS)
        assert list(spelled) == list(TEXTS)
        assert np.allclose(predictor.begin(spelled)(), predictor.predict(TEXTS), atol=1e-6)

    @pytest.mark.parametrize("side", ["padding_side", "truncation_side"])
    def test_a_tokenizer_that_pads_or_cuts_on_the_left_is_asked_as_usual(self, side: str) -> None:
        _, tokenizer = tiny_bert()
        setattr(tokenizer, side, "left")
        assert isinstance(encoding.encoder(tokenizer, {}), encoding.Usual)

    @pytest.mark.parametrize("n_cores", [2, 64])
    def test_a_tokenizer_to_which_the_first_word_is_another_is_asked_as_usual(self, n_cores: int, monkeypatch) -> None:
        """It cuts at spaces, but marks the beginning of the text; many cores do not hide that."""
        import tokenizers
        import transformers
        from tokenizers.pre_tokenizers import Metaspace, Sequence, WhitespaceSplit

        monkeypatch.setattr("os.cpu_count", lambda: n_cores)
        numbers = {"[PAD]": 0, "[UNK]": 1, "words,": 2, "▁words,": 3}
        engine = tokenizers.Tokenizer(tokenizers.models.WordLevel(numbers, unk_token="[UNK]"))
        engine.pre_tokenizer = Sequence([WhitespaceSplit(), Metaspace(prepend_scheme="first")])
        first = transformers.PreTrainedTokenizerFast(tokenizer_object=engine, pad_token="[PAD]", unk_token="[UNK]")
        assert isinstance(encoding.encoder(first, {}), encoding.Usual)

    def test_a_text_without_any_piece_is_padding(self) -> None:
        """As the empty text is to a tokenizer that sets nothing around a text."""
        import tokenizers
        import transformers

        engine = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[PAD]": 0, "[UNK]": 1}, unk_token="[UNK]"))
        engine.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        bare = transformers.PreTrainedTokenizerFast(tokenizer_object=engine, pad_token="[PAD]", unk_token="[UNK]")
        inputs = encoding.encoder(bare, {})([""])
        assert {name: tensor.tolist() for name, tensor in inputs.items()} == {
            "input_ids": [[0]],
            "attention_mask": [[0]],
        }

    def test_the_pieces_that_are_remembered_have_a_limit(self, monkeypatch) -> None:
        """Also where every text is one long stretch; 3 texts of 16 pieces at a time."""
        monkeypatch.setattr(encoding, "REMEMBERED", 100)
        encode = encoding.encoder(tiny_bert()[1], {})
        for number in range(20):
            texts = Spelled(
                [f"film{',' * 10}{number}{end}!!!" for end in "?,!"], [np.int32(i).tobytes() for i in range(3)]
            )
            assert len(list(encoding.batches(encode, texts, 3))) == 1
            assert sum(len(pieces) for pieces in encode._known.values()) < 200

    def test_a_device_that_is_not_there_is_named(self, bert_folder: Path) -> None:
        with pytest.raises(InputError, match=r"There is no device 'cuda:99' here; there is: cpu"):
            HuggingFacePredictor.from_folder(bert_folder, device="cuda:99")

    def test_without_a_padding_token_texts_go_one_by_one(self) -> None:
        model, tokenizer = tiny_bert()
        expected = HuggingFacePredictor(model, tokenizer).predict(TEXTS)
        tokenizer.pad_token = None
        assert np.allclose(HuggingFacePredictor(model, tokenizer).predict(TEXTS), expected, atol=1e-6)

    @pytest.mark.parametrize(
        ("kind", "told"), [("regression", "regression"), (["x"], r"\['x'\]"), (["x" * 999], ".*…")]
    )
    def test_other_problems_are_refused(self, kind: Any, told: str) -> None:
        model, tokenizer = tiny_bert()
        model.config.problem_type = kind
        with pytest.raises(InputError, match=f"model for {told}; expected one that gives texts labels"):
            HuggingFacePredictor(model, tokenizer)

    def test_pickled_weights_are_refused_unread(self, bert_folder: Path, tmp_path: Path) -> None:
        trace = tmp_path / "was-here"
        folder = tmp_path / "folder"
        folder.mkdir()
        (folder / "config.json").write_bytes((bert_folder / "config.json").read_bytes())
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Touch(trace)))
        with pytest.raises(ModelFileError, match=r"only in pickled form .* safetensors with model.save_pretrained"):
            load_predictor(str(folder))
        assert not trace.exists()

    def test_code_in_the_folder_is_not_run(self, bert_folder: Path, tmp_path: Path) -> None:
        trace = tmp_path / "was-here"
        folder = tmp_path / "folder"
        folder.mkdir()
        for file in bert_folder.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        own = {
            "model_type": "evil",
            "auto_map": {"AutoConfig": "evil.C", "AutoModelForSequenceClassification": "evil.M"},
        }
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **own}))
        (folder / "evil.py").write_text(f"import pathlib\npathlib.Path({str(trace)!r}).touch()\n")
        with pytest.raises(ModelFileError, match=r"sets 'auto_map' to .* load code"):
            load_predictor(str(folder))
        assert not trace.exists()

    def test_a_head_is_not_made_up(self, tmp_path: Path) -> None:
        for part in tiny_bert("BertForMaskedLM"):
            part.save_pretrained(tmp_path)
        with pytest.raises(ModelFileError, match=r"no trained sequence classifier: it lacks .*classifier\.weight"):
            load_predictor(str(tmp_path))

    def test_a_vocabulary_is_not_made_up(self, tmp_path: Path) -> None:
        tiny_bert()[0].save_pretrained(tmp_path)
        with pytest.raises(ModelFileError, match="holds no tokenizer"):
            load_predictor(str(tmp_path))

    @pytest.mark.parametrize("kind", ["T5Tokenizer", "DebertaV2Tokenizer", "MBartTokenizer", "SplinterTokenizer"])
    @pytest.mark.parametrize("beside", [None, "merges.txt"])
    def test_nor_is_one_of_a_class_that_begins_with_some_pieces(
        self, beside: str | None, kind: str, tmp_path: Path
    ) -> None:
        tiny_bert()[0].save_pretrained(tmp_path)
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}))
        if beside:
            (tmp_path / beside).write_text("#version: 0.2\n")
        with pytest.raises(ModelFileError, match="holds no tokenizer"):
            load_predictor(str(tmp_path))

    def test_a_tokenizer_of_characters_needs_no_vocabulary(self, tmp_path: Path) -> None:
        tiny_bert(vocab_size=300)[0].save_pretrained(tmp_path)
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "ByT5Tokenizer"}))
        assert list(load_predictor(str(tmp_path)).labels) == LABELS

    def test_folders_of_something_else(self, tmp_path: Path) -> None:
        with pytest.raises(ModelFileError, match=r"has no config.json"):
            load_predictor(str(tmp_path))
        (tmp_path / "config.json").write_text("{}")
        with pytest.raises(ModelFileError, match="holds no weights"):
            load_predictor(str(tmp_path))

    def test_transformers_may_be_missing(self, bert_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "transformers", None)
        with pytest.raises(MissingPackageError, match=r"anchorscope\[huggingface\]"):
            load_predictor(str(bert_folder))


class TestVisible:
    """A tiny BERT reads sixteen pieces, two of which frame the text: fourteen words of it."""

    def test_a_model_says_how_far_it_reads(self) -> None:
        model, tokenizer = tiny_bert()
        word = next(word for word in WORDS if word.isalpha())
        long = " ".join([word] * 20)
        seen = HuggingFacePredictor(model, tokenizer).visible(["", word, long])
        assert seen.tolist() == [[0, 0], [0, len(word)], [0, 14 * (len(word) + 1) - 1]]

    def test_one_that_cuts_at_the_left_reads_the_end(self) -> None:
        model, tokenizer = tiny_bert()
        tokenizer.truncation_side = "left"
        word = next(word for word in WORDS if word.isalpha())
        long = " ".join([word] * 20)
        assert HuggingFacePredictor(model, tokenizer).visible([long]).tolist() == [[6 * (len(word) + 1), len(long)]]

    def test_a_tokenizer_without_places_is_asked_about_parts(self) -> None:
        class Slow:
            is_fast = False
            truncation_side = "right"

            def __call__(self, text: str, **_: Any) -> dict[str, Any]:
                return {"input_ids": [0, *map(len, text.split()), 0]}

        reach = Reach(Slow(), {"truncation": True, "max_length": 5})
        assert reach(["a bc def ghij", "a bc def"]).tolist() == [[0, 9], [0, 8]]
        assert Reach(Slow(), {})(["a " * 50]).tolist() == [[0, 100]]

    def test_a_run_does_not_test_what_the_model_does_not_read(self, bert_folder: Path) -> None:
        words = [word for word in WORDS if word.isalpha()][:2]
        texts = [" ".join([words[0]] * 14 + [words[1]] * 3), words[0]]
        result = Explainer(HuggingFacePredictor.from_folder(bert_folder)).explain(texts)
        assert result.documents["unseen"] == {"documents": 1, "words": 3}
