"""Functions and objects as predictors: what they are called with, what they may answer, and how they may fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_models import LABELS, TEXTS, text_pipeline

from anchorscope import Explainer
from anchorscope.asking.answers import answered
from anchorscope.asking.columns import Columns
from anchorscope.errors import InputError, ModelError, ModelFileError
from anchorscope.predictors import as_predictor
from anchorscope.predictors.function import PROBE


class TestFailures:
    def test_what_the_model_raises_is_chained(self) -> None:
        def fails(texts: list[str]) -> Any:
            raise OSError("disk on fire\nand more")

        with pytest.raises(ModelError) as caught:
            as_predictor(fails, labels=LABELS).predict(["first", "second"])
        assert str(caught.value) == (
            "The model failed on a batch of 2 texts: OSError: disk on fire; first text: 'first'."
        )
        assert isinstance(caught.value.__cause__, OSError)

    def test_interrupts_pass(self) -> None:
        def interrupted(texts: list[str]) -> Any:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            as_predictor(interrupted, labels=LABELS).predict(["text"])

    @pytest.mark.parametrize("error", [SystemExit(0), MemoryError(), ZeroDivisionError(), GeneratorExit()])
    @pytest.mark.parametrize("part", ["__array__", "__iter__", "columns"])
    def test_an_answer_that_raises_when_it_is_read_is_a_failure(self, part: str, error: BaseException) -> None:
        """A SystemExit would end the process with the status 0, and without a word."""

        def fail(*_: Any, **__: Any) -> Any:
            raise error

        base = object if part == "__array__" else list
        answer = type("Answer", (base,), {part: property(fail) if part == "columns" else fail})()
        with pytest.raises(ModelError, match=type(error).__name__):
            answered(lambda texts: answer, ["text"], LABELS, Columns(LABELS))

    def test_an_exception_that_cannot_be_written_is_named(self) -> None:
        class Mute(Exception):
            def __str__(self) -> str:
                raise ValueError

        def fails(texts: list[str]) -> Any:
            raise Mute

        with pytest.raises(ModelError, match="1 texts: Mute; first"):
            as_predictor(fails, labels=LABELS).predict(["text"])

    def test_a_long_exception_is_cut(self) -> None:
        def fails(texts: list[str]) -> Any:
            raise ValueError("x" * 10_000_000)

        with pytest.raises(ModelError) as caught:
            as_predictor(fails, labels=LABELS).predict(["text"])
        assert len(str(caught.value)) < 1000

    def test_many_labels_and_long_ones_are_cut(self) -> None:
        labels = [f"{number:0100}" for number in range(20_000)]
        for answer in ([[0.5, 0.5]], None, ["x" * 1_000_000], [{"x" * 1_000_000: 1.0}]):
            with pytest.raises(ModelError) as caught:
                as_predictor(lambda texts, answer=answer: answer, labels=labels).predict(["text"])
            assert len(str(caught.value)) < 8000 and "20,000" in str(caught.value)

    def test_a_model_whose_labels_raise_is_named(self) -> None:
        class Odd:
            @property
            def classes_(self) -> Any:
                raise ZeroDivisionError("classes")

            def predict_proba(self, texts: list[str]) -> Any:
                return [[0.5, 0.5]] * len(texts)

        with pytest.raises(ModelFileError, match=r"Odd fails when it is asked what it is \(ZeroDivisionError: classes"):
            as_predictor(Odd())

    @pytest.mark.parametrize("told", ["many", 10**400, -1, None])
    def test_tokens_that_are_no_count_are_refused(self, told: Any) -> None:
        class Odd:
            n_tokens = told

            def __call__(self, texts: list[str]) -> Any:
                return [[0.5, 0.5]] * len(texts)

        with pytest.raises(InputError, match="n_tokens of Odd is the number of tokens so far"):
            as_predictor(Odd(), labels=LABELS)

    def test_no_texts_are_no_call(self) -> None:
        answer = as_predictor(lambda texts: 1 / 0, labels=LABELS).predict([])
        assert answer.shape == (0, 2)


class TestLabels:
    def test_a_function_needs_them(self) -> None:
        def score(texts: list[str]) -> Any: ...

        with pytest.raises(InputError, match=r"labels of score are not known; .* --labels negative,positive"):
            as_predictor(score)

    @pytest.mark.parametrize("labels", [["only"], ["same", "same"], []])
    def test_two_different_ones_are_needed(self, labels: list[str]) -> None:
        with pytest.raises(InputError, match="two or more different labels"):
            as_predictor(lambda texts: None, labels=labels)

    def test_a_text_is_no_list_of_labels(self) -> None:
        with pytest.raises(InputError, match=r"write labels=\['bad', 'good'\]"):
            as_predictor(lambda texts: None, labels="bad,good")

    @pytest.mark.parametrize("labels", [[0, 1], np.array([0, 1]), ["0", 1]])
    def test_numbers_are_no_names(self, labels: Any) -> None:
        for model in (lambda texts: None, text_pipeline(), as_predictor(text_pipeline())):
            with pytest.raises(InputError, match=r"are strings, and .* is none; write labels=\['0', '1'\]"):
                as_predictor(model, labels=labels)

    def test_a_number_of_labels_is_no_list_of_them(self) -> None:
        with pytest.raises(InputError, match="labels must be a list of names, not 2"):
            as_predictor(lambda texts: None, labels=2)

    def test_given_names_replace_the_models_own(self) -> None:
        assert as_predictor(text_pipeline(), labels=["thumb down", "thumb up"]).labels == ("thumb down", "thumb up")

    def test_a_wrong_number_of_names_is_refused(self) -> None:
        with pytest.raises(InputError, match=r"LogisticRegression has 2 labels \(bad, good\), but 3 names"):
            as_predictor(text_pipeline(), labels=["a", "b", "c"])

    def test_the_models_own_names_in_another_order_are_refused(self) -> None:
        """Taken as new names, ``good,bad`` would swap the explanations of the two."""
        with pytest.raises(InputError, match=r"in the order \(bad, good\)"):
            as_predictor(text_pipeline(), labels=["good", "bad"])


class TestObjects:
    def test_a_predictor_comes_back_as_it_is(self) -> None:
        predictor = as_predictor(text_pipeline())
        assert as_predictor(predictor) is predictor
        assert as_predictor(predictor, labels=LABELS) is predictor
        with pytest.raises(InputError, match=r"labels of its own \(bad, good\)"):
            as_predictor(predictor, labels=["a", "b"])

    @pytest.mark.parametrize("thing", [None, 3, [1, 2]])
    def test_other_objects_are_refused(self, thing: Any) -> None:
        with pytest.raises(InputError, match=f"{type(thing).__name__} is no model that can be asked about texts"):
            as_predictor(thing)

    def test_a_name_is_no_model_and_how_to_load_it_is_said(self, tmp_path: Path) -> None:
        for thing in ("bert", tmp_path / "bert"):
            with pytest.raises(InputError, match=r"bert' is a name .*load_predictor\('.*bert'\)"):
                as_predictor(thing)

    def test_a_model_without_its_tokenizer_is_told_from_a_function(self) -> None:
        import transformers

        sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
        model = transformers.BertForSequenceClassification(transformers.BertConfig(vocab_size=8, **sizes))
        with pytest.raises(InputError, match=r"without its tokenizer; hand over both: pipeline\('text-classification'"):
            as_predictor(model, labels=LABELS)

    def test_what_must_be_awaited_is_refused_with_the_way_out(self) -> None:
        async def score(texts: list[str]) -> list[list[float]]:
            return [[0.5, 0.5]] * len(texts)

        class Scorer:
            async def __call__(self, texts: list[str]) -> list[list[float]]:
                return [[0.5, 0.5]] * len(texts)

        for model, name in ((score, "score"), (Scorer(), "Scorer")):
            with pytest.raises(InputError, match=rf"{name} is asynchronous.*asyncio.run\({name}\(texts\)\)"):
                as_predictor(model, labels=LABELS)

    def test_a_class_is_refused(self) -> None:
        from sklearn.linear_model import LogisticRegression

        with pytest.raises(InputError, match="LogisticRegression is a class"):
            as_predictor(LogisticRegression)

    def test_a_regressor_is_refused(self) -> None:
        from sklearn.linear_model import Ridge

        with pytest.raises(InputError, match="Ridge is no model"):
            as_predictor(Ridge())


class TestFunctions:
    def test_label_names_make_a_label_only_predictor(self) -> None:
        predictor = as_predictor(
            lambda texts: np.array(["good" if "great" in t else "bad" for t in texts]), labels=LABELS
        )
        assert predictor.predict(["great", "film"]).tolist() == [[0, 1], [1, 0]]
        assert predictor.has_probabilities is False

    def test_a_column_of_pandas_is_read_as_its_values(self) -> None:
        import pandas

        predictor = as_predictor(
            lambda texts: pandas.Series(["good" if "great" in text else "bad" for text in texts], index=[*texts]),
            learn_from=["great", "film"],
        )
        assert predictor.labels == ("bad", "good")
        assert predictor.predict(["great", "film"]).tolist() == [[0, 1], [1, 0]]

    def test_callable_objects_and_methods(self) -> None:
        class Scorer:
            def __call__(self, texts: list[str]) -> list[list[float]]:
                return [[1.0, 0.0]] * len(texts)

        assert as_predictor(Scorer(), labels=LABELS).name == "Scorer"
        model = text_pipeline()
        by_method = as_predictor(model.predict_proba, labels=LABELS)
        assert np.array_equal(by_method.predict(TEXTS), model.predict_proba(TEXTS))


class TestNamedRows:
    def test_the_texts_that_find_the_labels_count_for_the_budget(self) -> None:
        """What the run says it asked is what reached the function."""
        asked: list[str] = []

        def model(texts: list[str]) -> list[dict[str, float]]:
            asked.extend(texts)
            return [{"bad": 0.9, "good": 0.1} if "bad" in text else {"good": 0.8, "bad": 0.2} for text in texts]

        result = Explainer(model, settings={"min_occurrences": 1}).explain(TEXTS)
        assert result.cost.predictor_texts == len(asked) and {*result.explanations} == {"bad", "good"}

    def test_a_function_that_fails_on_the_first_texts_says_so(self) -> None:
        with pytest.raises(InputError, match=r"labels of <lambda> are not known, and it fails .*ZeroDivisionError"):
            as_predictor(lambda texts: 1 / 0)

    def test_names_are_learnt_from_the_documents_and_each_call_is_counted(self) -> None:
        asked: list[str] = []

        def kinds(texts: list[str]) -> list[str]:
            asked.extend(texts)
            return ["ham" if "lunch" in text else "spam" if "win" in text else "none" for text in texts]

        texts = ["win a prize"] * 300 + ["lunch today"] * 300
        predictor = as_predictor(kinds, learn_from=texts)
        assert predictor.labels == ("ham", "none", "spam")
        assert predictor.n_probed == len(asked) == 2 + 256  # the two of the probe, and the most that it learns from
        assert not as_predictor(kinds, labels=["ham", "none", "spam"]).n_probed

    def test_a_budget_limits_what_names_are_learnt_from(self) -> None:
        """A tenth of 60 calls is 6 documents: these and the probe's two are part of the 60."""
        asked: list[str] = []

        def kinds(texts: list[str]) -> list[str]:
            asked.extend(texts)
            return ["spam" if "win" in text else "ham" for text in texts]

        texts = ["win a prize", "lunch today", "a prize", "so we win", "today"] * 8
        result = Explainer(kinds, max_model_calls=60, settings={"min_occurrences": 1}).explain(texts)
        assert {*result.explanations} == {"ham", "spam"}
        assert len(asked) == result.cost.predictor_texts <= 60

    @pytest.mark.parametrize("rounds", [0, 1])
    def test_a_run_that_goes_on_does_not_learn_the_names_again(self, rounds: int, tmp_path: Path) -> None:
        asked: list[str] = []

        def kinds(texts: list[str]) -> list[str]:
            asked.extend(texts)
            return ["spam" if "win" in text else "ham" for text in texts]

        texts = ["win a prize", "lunch today", "a prize", "so we win", "today"] * 8
        explainer = Explainer(kinds, settings={"min_occurrences": 1, "round_size": 2})
        whole = explainer.explain(texts)
        n_whole = len(asked)
        stream = explainer.stream(texts, out=tmp_path / "run")
        for _ in range(rounds + 1):
            next(stream)
        stream.close()
        before = len(asked)
        result = explainer.explain(texts, out=tmp_path / "run", resume=True)
        assert result.explanations == whole.explanations
        assert asked[before:][:2] != [*PROBE]
        assert len(asked) - n_whole == result.cost.predictor_texts == whole.cost.predictor_texts

    def test_a_name_that_turns_up_later_is_a_sentence(self) -> None:
        predictor = as_predictor(lambda texts: [text[:1] for text in texts], labels=["a", "b"])
        with pytest.raises(ModelError, match=r"answered 'c' for 'c', which is none of its labels \(a, b\); name every"):
            predictor.predict(["a", "c"])

    @pytest.mark.parametrize("row", [{"label": "good", "score": 0.9}, [{"label": "good", "score": 0.9}]])
    def test_the_best_label_alone_is_no_row(self, row: Any) -> None:
        with pytest.raises(InputError, match=r"names its best label alone \('good'\).*top_k=None"):
            as_predictor(lambda texts: [row] * len(texts))

    def test_a_table_names_its_labels(self) -> None:
        import pandas

        assert as_predictor(lambda texts: pandas.DataFrame({"no": [0.5] * len(texts), "yes": 0.5})).labels == (
            "no",
            "yes",
        )

    def test_rows_that_name_their_labels_now_and_then_are_refused(self) -> None:
        predictor = as_predictor(lambda texts: [{"no": 1.0, "yes": 0.0}, [0.5, 0.5]], labels=["no", "yes"])
        with pytest.raises(ModelError, match="row for 'b' names no labels, and others do"):
            predictor.predict(["a", "b"])


class TestTables:
    def model(self, *columns: str) -> Any:
        import pandas
        from sklearn.compose import ColumnTransformer
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        table = pandas.DataFrame(dict.fromkeys(columns, TEXTS))
        first = ColumnTransformer([("words", TfidfVectorizer(), columns[0])])
        return make_pipeline(first, LogisticRegression()).fit(table, ["a", "b"] * 3)

    def test_the_only_column_needs_no_name(self) -> None:
        import pandas

        model = self.model("review")
        expected = model.predict_proba(pandas.DataFrame({"review": TEXTS}))
        assert np.array_equal(as_predictor(model).predict(TEXTS), expected)

    def test_one_of_several_is_named(self) -> None:
        model = self.model("review", "title")
        with pytest.raises(InputError, match=r"columns review, title; say which .* --text-column review"):
            as_predictor(model)
        assert np.array_equal(
            as_predictor(model, text_column="review").predict(TEXTS),
            self.model("review").predict_proba(__import__("pandas").DataFrame({"review": TEXTS})),
        )

    def test_a_model_that_reads_more_than_the_texts_says_so(self) -> None:
        with pytest.raises(ModelError, match=r"cannot read a table of the one column 'title' .*columns are missing"):
            as_predictor(self.model("review", "title"), text_column="title").predict(TEXTS)
