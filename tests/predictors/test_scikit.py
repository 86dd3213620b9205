"""scikit-learn's models: from memory, from skops and from pickles."""

from __future__ import annotations

import io
import json
import logging
import os
import pickle
import sys
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_models import LABELS, TEXTS, Touch, text_pipeline

from anchorscope.errors import InputError, MissingPackageError, ModelError, ModelFileError
from anchorscope.predictors import as_predictor, load_predictor
from anchorscope.predictors.scikit import ScikitPredictor


class LabelsOnly:
    """A fitted model of which nothing but the predictions is known."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.classes_ = model.classes_

    def predict(self, texts: list[str]) -> Any:
        return self.model.predict(texts)


class TestScikit:
    def test_it_answers_what_the_model_answers(self) -> None:
        model = text_pipeline()
        predictor = as_predictor(model)
        assert isinstance(predictor, ScikitPredictor)
        assert (predictor.name, predictor.labels, predictor.has_probabilities) == (
            "LogisticRegression",
            ("bad", "good"),
            True,
        )
        assert np.array_equal(predictor.predict(TEXTS), model.predict_proba(TEXTS))

    @pytest.mark.parametrize("read", ["filename", "file"])
    @pytest.mark.parametrize("depth", [0, 1])
    def test_a_vectoriser_that_opens_what_a_text_names_is_refused(self, depth: int, read: str) -> None:
        from sklearn.pipeline import make_pipeline, make_union

        model = text_pipeline()
        model[0].input = read
        if depth:
            model = make_pipeline(make_union(model[0]), model[-1])
        with pytest.raises(ModelFileError, match=rf"reads files that the texts name \(input='{read}'\)"):
            as_predictor(model)

    def test_margins_stand_for_probabilities_and_that_is_told(self, caplog: pytest.LogCaptureFixture) -> None:
        """Two labels: 1 / (1 + exp(-margin)) for the second."""
        from sklearn.svm import LinearSVC

        model = text_pipeline(LinearSVC())
        with caplog.at_level(logging.WARNING, "anchorscope"):
            predictor = as_predictor(model)
        assert np.allclose(predictor.predict(TEXTS)[:, 1], 1 / (1 + np.exp(-model.decision_function(TEXTS))))
        assert predictor.has_probabilities and "a softmax of its margins stands for them" in caplog.text

    def test_margins_of_three_labels_keep_what_the_model_predicts(self) -> None:
        from sklearn.svm import LinearSVC

        model = text_pipeline(LinearSVC()).fit(TEXTS, [1, 0, 1, 0, 0, 2])
        rows = as_predictor(model).predict(TEXTS)
        assert rows.shape == (6, 3) and np.array_equal(rows.argmax(axis=1), model.predict(TEXTS))

    def test_label_only_models(self) -> None:
        from sklearn.svm import LinearSVC

        model = LabelsOnly(text_pipeline(LinearSVC()))
        predictor = as_predictor(model, labels=["down", "up"])
        assert predictor.has_probabilities is False
        assert [["bad", "good"][row.argmax()] for row in predictor.predict(TEXTS)] == list(model.predict(TEXTS))
        assert set(predictor.predict(TEXTS).ravel()) == {0.0, 1.0}

    def test_classes_of_any_type_are_named_as_strings(self) -> None:
        from sklearn.linear_model import LogisticRegression

        model = text_pipeline(LogisticRegression()).fit(TEXTS, [1, 0, 1, 0, 0, 2])
        assert as_predictor(model).labels == ("0", "1", "2")

    def test_a_classifier_without_vectoriser(self) -> None:
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        for bare in (LogisticRegression(), LinearSVC()):
            model = bare.fit([[0.0, 1.0], [1.0, 0.0]], LABELS)
            with pytest.raises(
                ModelError, match=r"table of 2 columns and cannot read texts .* pipeline with a vectoriser"
            ):
                as_predictor(model).predict(["text"])

    def test_an_unfitted_model(self) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        model = make_pipeline(TfidfVectorizer(), LogisticRegression())
        for labels in (None, LABELS):
            with pytest.raises(InputError, match=r"LogisticRegression is not fitted yet; call its fit"):
                as_predictor(model, labels=labels)

    def test_several_outputs_are_refused(self) -> None:
        from sklearn.dummy import DummyClassifier

        model = DummyClassifier().fit([[0], [1]], [["a", "x"], ["b", "y"]])
        with pytest.raises(InputError, match="DummyClassifier predicts several things at once"):
            as_predictor(model)


class TestSkops:
    def save(self, model: Any, path: Path) -> Path:
        import skops.io

        skops.io.dump(model, path)
        return path

    def test_a_plain_pipeline_needs_no_trust(self, tmp_path: Path) -> None:
        model = text_pipeline()
        path = self.save(model, tmp_path / "reviews.skops")
        predictor = load_predictor(str(path))
        assert predictor.name == "reviews.skops"
        assert predictor.fingerprint == sha256(path.read_bytes()).hexdigest()
        assert np.array_equal(predictor.predict(TEXTS), model.predict_proba(TEXTS))

    def test_untrusted_types_are_listed_and_not_touched(self, here: Path) -> None:
        (here / "shouting_helpers.py").write_text("def shout(texts):\n    return [text.upper() for text in texts]\n")
        sys.path.insert(0, str(here))
        import shouting_helpers  # type: ignore[import-not-found]
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer

        path = self.save(make_pipeline(FunctionTransformer(shouting_helpers.shout), text_pipeline()), here / "m.skops")
        del sys.modules["shouting_helpers"]
        sys.path.remove(str(here))

        with pytest.raises(
            ModelFileError, match=r"nothing was loaded; .* add --trust shouting_helpers\.shout \(in Python"
        ):
            load_predictor("m.skops")
        assert "shouting_helpers" not in sys.modules
        with pytest.raises(ModelFileError, match=r"does not vouch for: shouting_helpers.shout;"):
            load_predictor("m.skops", trust=["some.other"])
        predictor = load_predictor(str(path), trust=["shouting_helpers.shout"])
        assert predictor.predict(["great"]).shape == (1, 2)

    def test_a_call_in_disguise_is_not_made(self, tmp_path: Path) -> None:
        from sklearn.preprocessing import FunctionTransformer

        path = self.save(FunctionTransformer(os.system), tmp_path / "m.skops")
        with pytest.raises(ModelFileError, match=r"--trust posix.system|--trust nt.system"):
            load_predictor(str(path))

    @pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 broken"])
    def test_broken_files(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "m.skops"
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=r"'m.skops' cannot be read as a skops file"):
            load_predictor(str(path))

    def repacked(self, path: Path, change: Callable[[str, bytes], bytes]) -> Path:
        """The same archive with changed entries, packed."""
        with zipfile.ZipFile(path) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in entries.items():
                archive.writestr(name, change(name, data))
        return path

    def test_a_packed_model_is_read(self, tmp_path: Path) -> None:
        path = self.repacked(self.save(text_pipeline(), tmp_path / "m.skops"), lambda name, data: data)
        assert load_predictor(str(path)).predict(["great"]).shape == (1, 2)

    @pytest.mark.parametrize("kind", ["one entry", "an archive in it", "one entry for many arrays"])
    def test_a_file_that_would_fill_the_memory_is_refused_unread(
        self, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """3 MB of zeros in a few kB, where 1 MB is harmless: as 4 GB would be in 4 MB."""
        import skops.io

        monkeypatch.setattr("anchorscope.predictors.skops_size.HARMLESS", 1 << 20)
        monkeypatch.setattr(skops.io, "get_untrusted_types", lambda **given: pytest.fail("the file was read"))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("data.npy", bytes(3_000_000))
        path = self.save(text_pipeline(), tmp_path / "m.skops")

        with zipfile.ZipFile(path) as archive:
            first = next(name for name in archive.namelist() if name.endswith(".npy"))
        arrays = {"one entry": bytes(3_000_000), "an archive in it": packed.getvalue()}

        def change(name: str, data: bytes) -> bytes:
            if name == "schema.json" and kind not in arrays:
                more = [{"file": first, "__id__": number} for number in range(1, 31)]
                return json.dumps({**json.loads(data), "more": more}).encode()
            return arrays.get(kind, bytes(100_000)) if name == first else data

        self.repacked(path, change)
        with pytest.raises(ModelFileError, match=r"'m.skops' has [\d,]+ bytes and would become [34],\d{3},\d{3} when"):
            load_predictor(str(path))

    def test_a_pipe_is_not_waited_for_and_a_link_is_followed(self, tmp_path: Path) -> None:
        self.save(text_pipeline(), tmp_path / "m.skops")
        (tmp_path / "link.skops").symlink_to("m.skops")
        assert load_predictor(str(tmp_path / "link.skops")).predict(["great"]).shape == (1, 2)
        for name in ("pipe.skops", "pipe.pkl"):
            os.mkfifo(tmp_path / name)
            with pytest.raises(ModelFileError, match=f"{name}' is no regular file"):
                load_predictor(str(tmp_path / name), allow_pickle=name.endswith("pkl"))

    def test_another_version_is_told_and_no_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        import sklearn
        import sklearn.base

        with monkeypatch.context() as patch:
            patch.setattr(sklearn.base, "__version__", "1.0.1")
            path = self.save(text_pipeline(), tmp_path / "m.skops")
        with caplog.at_level(logging.WARNING, "anchorscope"):
            load_predictor(str(path))
        assert caplog.messages == [
            f"m.skops: made with scikit-learn 1.0.1 and read with {sklearn.__version__}; "
            "its answers may differ: fit it again if you can."
        ]

    def test_skops_may_be_missing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "m.skops").write_bytes(b"")
        monkeypatch.setitem(sys.modules, "skops.io", None)
        with pytest.raises(MissingPackageError, match=r"anchorscope\[scikit\]"):
            load_predictor(str(tmp_path / "m.skops"))


class TestPickles:
    @pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib", ".PKL"])
    def test_they_are_refused_unread(self, tmp_path: Path, suffix: str) -> None:
        trace, path = tmp_path / "was-here", tmp_path / f"m{suffix}"
        path.write_bytes(pickle.dumps(Touch(trace)))
        with pytest.raises(ModelFileError, match=r"is a pickle, which can run any code .* --allow-pickle"):
            load_predictor(str(path))
        assert not trace.exists()

    def test_allowed_ones_are_read(self, tmp_path: Path) -> None:
        import joblib

        model = text_pipeline()
        (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
        joblib.dump(model, tmp_path / "m.joblib")
        for name in ("m.pkl", "m.joblib"):
            predictor = load_predictor(str(tmp_path / name), allow_pickle=True)
            assert predictor.name == name
            assert np.array_equal(predictor.predict(TEXTS), model.predict_proba(TEXTS))

    def test_broken_ones(self, tmp_path: Path) -> None:
        (tmp_path / "m.pkl").write_bytes(b"no pickle")
        with pytest.raises(ModelFileError, match=r"'m.pkl' cannot be read as a pickle file"):
            load_predictor(str(tmp_path / "m.pkl"), allow_pickle=True)
