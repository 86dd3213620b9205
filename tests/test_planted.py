"""Words planted in a model: it is the model that was promised, and a run's intervals hold what is known of them."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from anchorscope.cli import main
from anchorscope.evaluation import planted
from anchorscope.evaluation.kept import KeptRun, kept_run
from anchorscope.evaluation.planted_model import PlantedModel
from anchorscope.journal.reader import RunReader
from anchorscope.journal.standings import Standings
from anchorscope.run import Run
from anchorscope.scoring.aggregations import aggregation
from anchorscope.settings import preset
from anchorscope.testing import WeightPredictor
from anchorscope.text.read import read_texts

WORDS = [f"w{a}{b}" for a in "abcdefghijklmno" for b in "abcdefghijklmno"]


def corpus(seed: int, n: int = 500) -> tuple[list[str], WeightPredictor]:
    """Texts whose words are as unequally frequent as words are, and a model that weighs a fifth of them."""
    chances = np.random.default_rng(seed)
    share = 1 / np.arange(5, len(WORDS) + 5)
    weights = chances.normal(0, 1, len(WORDS)) * (chances.random(len(WORDS)) < 0.2)
    texts = [" ".join(chances.choice(WORDS, chances.integers(5, 20), p=share / share.sum())) for _ in range(n)]
    return texts, WeightPredictor(dict(zip(WORDS, weights.tolist())), bias=0.1)


def explain(texts: list[str], model: WeightPredictor | PlantedModel, folder: Path, seed: int) -> None:
    for _ in Run(read_texts(texts), model, None, preset("fast", seed=seed), folder=folder).snapshots():
        pass


def kept(tmp_path: Path, seed: int) -> tuple[KeptRun, list[str]]:
    texts, model = corpus(seed)
    explain(texts, model, tmp_path / f"run{seed}", seed)
    return kept_run(tmp_path / f"run{seed}", read_texts(texts), model), texts


def logit(p: np.ndarray) -> np.ndarray:
    return np.log(p / (1 - p))


def test_the_shift_is_that_of_the_words_in_the_text_and_other_labels_keep_their_proportions() -> None:
    class Three:
        labels, has_probabilities, name, fingerprint = ("a", "b", "c"), True, "three", "three"

        def predict(self, texts):
            return np.tile([0.5, 0.3, 0.2], (len(texts), 1))

    rows = PlantedModel(Three(), {"film": 1.5, "plot": -0.5}, "a").predict(["so", "Film, film", "film plot"])
    assert logit(rows[:, 0]) == pytest.approx([0.0, 1.5, 1.0])
    assert rows[:, 1] / rows[:, 2] == pytest.approx(1.5)
    assert rows.sum(axis=1) == pytest.approx(1)


def test_what_is_planted_is_neutral_spread_over_frequencies_and_graded(tmp_path: Path) -> None:
    run, _ = kept(tmp_path, 3)
    plants = planted.choose(run, "yes", 6, seed=3)
    weights = corpus(3)[1].weights
    assert [weights[plant.term] for plant in plants] == [0.0] * 6 == [plant.own_effect for plant in plants]
    listed = {term.term for one in run.result.explanations.values() for term in (*one.terms, *one.against)}
    assert not listed & {plant.term for plant in plants}
    shifts = [plant.shift for plant in plants]
    assert shifts == sorted(shifts, reverse=True) and (shifts[0], shifts[-1]) == (3.0, 0.3)
    counts = sorted(plant.documents for plant in plants)
    assert counts[0] <= 7 and counts[-1] >= 30 and len({*counts}) == 6


def test_no_sign_is_planted_as_the_model_looks_for_words(tmp_path: Path) -> None:
    """Four signs are the most frequent candidates that may be planted: one in ten documents holds each."""
    texts, model = corpus(3)
    signs = ["!", "--", ":)", "#now"]
    texts = [f"{text} {signs[i % 10]}" if i % 10 < len(signs) else text for i, text in enumerate(texts)]
    explain(texts, model, tmp_path / "run", 3)
    run = kept_run(tmp_path / "run", read_texts(texts), model)
    assert {*signs} <= {*run.candidates}
    for seed in range(5):
        plants = planted.choose(run, "yes", 12, seed=seed)
        assert not {*signs} & {plant.term for plant in plants}
        assert all(plant.documents >= planted.FEWEST_DOCUMENTS for plant in plants)


def test_a_word_is_planted_where_the_run_knows_it(tmp_path: Path) -> None:
    """*4* stands by itself in 12 texts, and in a number or a link in 12 more.

    The run (terms: words, numbers, hashtags, …) counts 12 documents: so does who plants it, and the truth is the fall
    over these.
    """
    texts, model = corpus(3)
    parts = ["4", "4.5", "https://t.co/4", "4"]
    texts = [f"{text} {parts[i % 4]}" if i < 24 else text for i, text in enumerate(texts)]
    explain(texts, model, tmp_path / "run", 3)
    run = kept_run(tmp_path / "run", read_texts(texts), model)
    kinds = str(run.settings.terms)
    held = planted._holders(run.texts, ["4"], kinds)["4"]
    assert len(held) == 12 == int(run.tally.documents.sum(axis=0)[run.candidates.index("4")])
    wrapped = PlantedModel(model, {"4": 2.0}, "yes", kinds=kinds)
    changed = np.abs(wrapped.predict(texts) - model.predict(texts)).max(axis=1) > 1e-9
    assert [text for text, is_other in zip(texts, changed) if is_other] == [text for text in texts if text in held]
    explain(texts, wrapped, tmp_path / "planted", 3)
    plants = [planted.Plant("4", 2.0, len(held), 0.0)]
    (one,) = planted.look_up(tmp_path / "planted", plants, "yes", wrapped, texts).found
    with_it = wrapped.predict(held)[:, 1]
    without = wrapped.predict([text.removesuffix(" 4") for text in held])[:, 1]
    assert one.truth == pytest.approx((with_it - without)[with_it > 0.5].sum(), abs=1e-9)
    assert one.is_inside


def test_due_counts_true_scores_among_the_scores_of_the_others() -> None:
    """Of 7, 6, 1 true and 8, 3, 2 estimated, the best three are 8, 7, 6: two are due, whatever the run estimated of
    the planted ones; with five places 3 and 2 take the rest."""
    assert planted.n_due([7.0, 6.0, 1.0], [8.0, 3.0, 2.0], 3) == 2
    assert planted.n_due([7.0, 6.0, 1.0], [8.0, 3.0, 2.0], 5) == 2
    assert planted.n_due([7.0, 6.0, 1.0], [8.0, 3.0, 2.0], 6) == 3


def test_due_does_not_depend_on_what_the_run_estimates_of_planted_words(tmp_path: Path) -> None:
    """The twentieth best of the true scores and those of the other words, worked out here from the journal.

    Seven reach it. One of these is overestimated where it is the last shown: 6 have a true score above that.
    """
    run, texts = kept(tmp_path, 1)
    plants = planted.choose(run, "yes", 10, seed=1)
    model = PlantedModel(run.predictor, {plant.term: plant.shift for plant in plants}, "yes")
    explain(texts, model, tmp_path / "planted", 1)
    found = planted.look_up(tmp_path / "planted", plants, "yes", model, texts)
    with closing(RunReader(tmp_path / "planted")) as reader:
        standings = Standings(reader, alpha=reader.settings.alpha, k=20)
        scores = dict(zip(reader.terms, standings.scores(aggregation("total"))[1].tolist()))
    truths = {one.plant.term: one.truth or 0.0 for one in found.found}
    best = sorted({**scores, **truths}.values(), reverse=True)[19]
    assert found.due == sum(truth >= best for truth in truths.values())


def test_planted_scores_are_inside_their_intervals(tmp_path: Path) -> None:
    """The intervals are of 90%: of 50 true scores 85% have to be inside, and most words that are due are found."""
    inside = known = shown = due = 0
    for seed in range(5):
        run, texts = kept(tmp_path, seed)
        plants = planted.choose(run, "yes", 10, seed)
        model = PlantedModel(run.predictor, {plant.term: plant.shift for plant in plants}, "yes")
        explain(texts, model, tmp_path / f"planted{seed}", seed)
        found = planted.look_up(tmp_path / f"planted{seed}", plants, "yes", model, texts)
        inside += found.inside[0]
        known += found.inside[1]
        shown += found.n_shown
        due += found.due or 0
    assert known >= 40 and inside >= 0.85 * known
    assert 0.85 * due <= shown <= 1.15 * due


def test_the_truth_is_the_summed_fall(tmp_path: Path) -> None:
    run, texts = kept(tmp_path, 1)
    plants = planted.choose(run, "yes", 3, seed=1)
    model = PlantedModel(run.predictor, {plant.term: plant.shift for plant in plants}, "yes")
    explain(texts, model, tmp_path / "planted", 1)
    found = planted.look_up(tmp_path / "planted", plants, "yes", model, texts)
    for one in found.found:
        held = [text for text in texts if one.plant.term in text.split()]
        without = [" ".join(word for word in text.split() if word != one.plant.term) for text in held]
        yes, less = model.predict(held)[:, 1], model.predict(without)[:, 1]
        assert one.truth == pytest.approx((yes - less)[yes > 0.5].sum(), abs=1e-9)


def test_the_command_says_what_it_costs_and_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    texts, model = corpus(0, 300)
    Path("docs.txt").write_text("\n".join(texts), encoding="utf-8")
    Path("weighing.py").write_text("from test_planted import corpus\nmodel = corpus(0, 300)[1].predict\n")
    monkeypatch.syspath_prepend(tmp_path)
    explain(texts, model, tmp_path / "run", 0)
    named = ["--docs", "docs.txt", "--model", "weighing:model", "--labels", "no,yes"]
    command = ["evaluate", "run", *named, "--plant", "5"]
    assert main([*command, "--json"]) == 0
    output, told = capsys.readouterr()
    found = json.loads(output)
    assert len(found["found"]) == 5 and found["shown"] >= 2 and found["inside_of"] >= 2
    said = [int(number.replace(",", "")) for number in re.findall(r"[0-9][0-9,]+", told)]
    assert len(said) == 3 and found["texts"] <= 1.3 * sum(said)
    assert main(command) == 0
    table = capsys.readouterr().out
    assert "planted words" in table and "true scores are inside their interval" in table
