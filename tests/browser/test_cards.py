"""What a word does in a text: cards, shades, marks and documents."""

from __future__ import annotations

import json
from typing import Any

import pytest
from shown import attributes

from anchorscope.result import Result

# --- what a word does in a text ---


def figures(card: Any) -> tuple[float, float, float]:
    """With the term, without it, and the effect, as a card says them."""
    before, after = (float(text) for text in card.locator(".split dd").all_inner_texts())
    return before, after, float(card.locator(".verdict b").inner_text().split()[1].replace("−", "-"))


def test_the_cards_of_a_term_say_what_it_does_in_their_documents(open_page: Any, report: tuple[str, Result]) -> None:
    """In order of the effect, which is the difference; where the rest is less than half, the decision flips."""
    url, result = report
    term = result["negative"].terms[0].term
    watched = open_page(url)
    watched.page.locator('.panel[data-label="0"] .term').first.click()
    watched.page.wait_for_selector(".occurrence")
    watched.shot("term-wide-light")
    first = result["negative"].terms[0]
    assert watched.text(".termhead bdi") == first.written
    told = watched.text("main .lead")
    assert told.startswith("Rank 1 for negative: a driver. Tests: +") and f"in {first.tested} documents" in told
    assert {word.lower() for word in watched.texts(".occurrence .text .effect")} == {term}
    assert watched.page.locator(".occurrence details").count() == 0
    cards = [
        (figures(card), card.locator(".verdict").inner_text()) for card in watched.page.locator(".occurrence").all()
    ]
    assert len(cards) >= 2
    for (before, after, effect), told in cards:
        assert before - after == pytest.approx(effect, abs=0.0016)
        assert ("flips" in told) == (after < 0.5)
    first = [effect for (_, _, effect), _ in cards if effect > 0]
    assert first == sorted(first, reverse=True)


def test_cards_stand_under_what_the_term_does_there(open_page: Any, report: tuple[str, Result]) -> None:
    """For the class, nothing, against it: each under its heading, the strongest of a side first."""
    watched = open_page(report[0])
    address, label = watched.page.evaluate(
        """() => {
            const piece = page.data.evidence[0];
            const make = (value, deviation) => ({ ...piece, value, deviation });
            const others = page.data.evidence.filter((one) => one.term !== piece.term || one.label !== piece.label);
            const values = [[0.3, 0], [0.1, 0], [0.2, 0.1], [0.001, 0], [-0.1, 0], [-0.2, 0], [0.0046, 0]];
            page.data.evidence = [...values.map(([value, deviation]) => make(value, deviation)), ...others];
            const { name } = page.data.about.labels[piece.label];
            return [termAddress(name, page.data.terms.term[piece.term]), name];
        }"""
    )
    watched.page.evaluate(f"location.hash = {json.dumps(address)}")
    watched.page.wait_for_selector(".occurrence")
    assert watched.texts(".evidence h3") == [
        *(f"Where it speaks for {label}", "Where it changes less than 0.005", f"Where it speaks against {label}"),
    ]
    found = [
        [float(text.split()[1].replace("−", "-")) for text in section.locator(".verdict b").all_inner_texts()]
        for section in watched.page.locator(".evidence section").all()
    ]
    assert found == [[0.3, 0.1, 0.005], [0.2, 0.001], [-0.2, -0.1]]


def test_where_cards_are_missing_their_number_is_told(open_page: Any, report: tuple[str, Result]) -> None:
    """A term with cards for all of its tests, and the same term with a card less."""
    watched = open_page(report[0])
    watched.page.locator('.panel[data-label="0"] .term').first.click()
    watched.page.wait_for_selector(".occurrence")
    n = watched.page.locator(".occurrence").count()
    assert watched.text(".some") == ""
    watched.page.evaluate(
        """() => {
            const index = page.data.terms.term.indexOf(state().term);
            const gone = page.data.evidence.find((piece) => piece.label === 0 && piece.term === index);
            page.data.evidence = page.data.evidence.filter((piece) => piece !== gone);
            draw();
        }"""
    )
    assert watched.text(".some") == f"{n - 1} of its {n} tests are shown"


def test_a_decision_flips_when_another_class_must_be_more_probable(open_page: Any, report: tuple[str, Result]) -> None:
    """Of two classes below a half; of three below a third, and between a third and a half nobody can tell."""
    watched = open_page(report[0])
    told = "[0.2, 0.4, 0.6].map(decision)"
    assert watched.page.evaluate(told) == ["flips", "flips", "stays"]
    watched.page.evaluate("page.data.about.labels.push({ name: 'third', explained: false })")
    assert watched.page.evaluate(told) == ["flips", "below one half, another label may win", "stays"]


def test_perturbed_texts_stand_beside_the_effect_of_a_term(open_page: Any, perturbed: tuple[str, Result]) -> None:
    """Where words are replaced: in order of the effect, with its noise; nothing is called an anchor."""
    url, result = perturbed
    first = result["negative"].terms[0]
    watched = open_page(url)
    watched.page.locator('.panel[data-label="0"] .term').first.click()
    watched.page.wait_for_selector(".occurrence")
    effects = [text.replace("−", "-").split() for text in watched.texts(".occurrence .verdict b")]
    values = [float(words[1]) for words in effects]
    assert len(values) > 1 and all(words[2] == "±" for words in effects)
    sections = watched.page.locator(".evidence section").first.locator(".verdict b").count()
    assert values[:sections] == sorted(values[:sections], reverse=True)
    watched.page.locator("summary").first.click()
    watched.shot("term-perturbed")
    assert len(watched.texts(".occurrence details li")) > 5
    kept = [text for text in watched.texts(".occurrence .kept_with li") if text]
    assert kept and all(first.term in text.lower() for text in kept)
    assert watched.page.locator("mark.anchor").count() == 0


def shade(word: Any) -> float:
    return float(word.evaluate("(e) => e.style.getPropertyValue('--shade')").rstrip("%"))


def test_words_are_shaded_by_their_effect(open_page: Any, report: tuple[str, Result]) -> None:
    """The more it does the deeper; for and against have two colours and two lines; a legend stands above the texts."""
    watched = open_page(report[0] + "#documents")
    assert watched.page.locator("mark").count() == 0
    words = {}
    for word in watched.page.locator(".document .effect").all():
        told = word.get_attribute("title").split()[1].strip(",").replace("−", "-")
        words.setdefault(word.get_attribute("class").split()[1], []).append((float(told), shade(word)))
    assert all(effect >= 0 for effect, _ in words["for"]) and all(effect <= 0 for effect, _ in words["against"])
    for pairs in (words["for"], words["against"]):
        ordered = [depth for _, depth in sorted(pairs, key=lambda pair: abs(pair[0]))]
        assert ordered == pytest.approx(sorted(ordered), abs=0.3) and ordered[-1] > ordered[0]
    colours = watched.page.evaluate(
        """["for", "against"].map((kind) => {
            const style = getComputedStyle(document.querySelector(`.document .effect.${kind}`));
            return [style.backgroundColor, style.boxShadow];
        })"""
    )
    assert colours[0][0] != colours[1][0] and "-2px" in colours[0][1] and "-2px" not in colours[1][1]
    legend = watched.text(".shades")
    beside, told = (watched.page.locator(part).first.bounding_box() for part in (".shades", ".shades .quiet"))
    assert told["x"] == beside["x"] and told["y"] > beside["y"]  # on a line of its own
    assert legend.startswith("for negative") and "for positive" in legend and "not told apart" not in legend
    kinds = watched.page.evaluate("[...document.querySelectorAll('.shades .effect')].map((e) => e.classList[1])")
    assert kinds == ["against", "against", "none", "for", "for"]
    assert not any(sign in legend for sign in "+−")  # a word for either label has an effect above 0 in its documents
    watched.page.locator(".document .badge").first.click()
    watched.page.wait_for_selector("table.words")
    assert "+" in watched.text(".shades") and "−" in watched.text(".shades")
    heads = watched.texts("table.words thead th")
    assert heads == ["term", "effect", "without it", "decision"]


def test_a_word_without_an_effect_stands_like_any_other(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0] + "#documents")
    plain = watched.page.locator(".document .effect.none").first
    assert plain.evaluate("(e) => getComputedStyle(e).padding") == "0px"


def test_a_word_that_a_test_found_without_effect_is_told_from_one_that_no_test_met(
    open_page: Any, report: tuple[str, Result]
) -> None:
    """It stands like any other, on a dotted line, and the legend says what that is."""
    watched = open_page(report[0] + "#documents")
    found = watched.page.locator(".document .effect.none").first
    assert found.evaluate("(e) => getComputedStyle(e).padding") == "0px"
    assert found.evaluate("(e) => getComputedStyle(e).borderBottomStyle") == "dotted"
    assert "Dotted: tested, no effect. Plain: not tested there." in watched.text(".shades")


def test_a_term_that_stands_twice_in_a_document_is_one_row(open_page: Any, report: tuple[str, Result]) -> None:
    """Its words are taken out together, so it is one test; where occurrences are tested one by one, they are two."""
    watched = open_page(report[0])
    rows = """(holder) => {
        page.data.about.score.holder = holder;
        const words = [[0, 1, 7, 0.1, 0], [2, 5, 8, 0.2, 0], [6, 7, 7, 0.1, 0]];
        return testedTerms({ text: "a bad A", words }).map(({ written, times }) => [written, times]);
    }"""
    assert watched.page.evaluate(rows, "document") == [["a", 2], ["bad", 1]]
    assert watched.page.evaluate(rows, "occurrence") == [["a", 1], ["bad", 1], ["A", 1]]
    watched.page.evaluate("page.data.about.score.holder = 'document'")
    key = watched.page.evaluate(
        """page.data.documents.find((one) => {
            const tested = testedTerms(one);
            return tested.length < one.words.length && tested.length > 1;
        }).key"""
    )
    watched.page.evaluate(f"location.hash = 'documents?key={key}'")
    watched.page.wait_for_selector("table.words")
    terms = watched.texts("table.words tbody th")
    assert any(" ×2" in term or " ×3" in term for term in terms)
    assert watched.text(".document header .quiet").split(" · ")[-1].startswith(f"{len(terms)} of ")


def test_what_is_not_told_apart_from_nothing_is_hatched(open_page: Any, perturbed: tuple[str, Result]) -> None:
    """Within two deviations of 0, and where nobody knows the noise; not where a score without noise finds nothing."""
    watched = open_page(perturbed[0] + "#documents")
    hatched = watched.page.locator(".document .effect.untold")
    assert hatched.count() > 5
    assert all("not told apart from 0" in word.get_attribute("title") for word in hatched.all())
    assert "gradient" in hatched.first.evaluate("(e) => getComputedStyle(e).backgroundImage")
    kinds = "(pairs) => pairs.map(([value, deviation]) => kindOf({ value, deviation }))"
    pairs = [[0.2, 0.1], [0.21, 0.1], [-0.21, 0.1], [0.9, None], [0, 0]]
    assert watched.page.evaluate(kinds, pairs) == ["untold", "for", "against", "untold", "none"]
    assert "not told apart from 0" in watched.text(".shades")


def test_of_two_classes_a_word_against_one_has_the_colour_of_the_other(
    open_page: Any, report: tuple[str, Result]
) -> None:
    watched = open_page(report[0] + "#documents")
    hue = """(kind, label) => {
        const [card] = [...document.querySelectorAll(".document")].filter((one) =>
            one.classList.contains(`c${label}`) && one.querySelector(`.effect.${kind}`));
        return getComputedStyle(card.querySelector(`.effect.${kind}`)).getPropertyValue("--s");
    }"""
    hues = {
        (kind, label): watched.page.evaluate(f"({hue})({kind!r}, {label})")
        for kind in ("for", "against")
        for label in (0, 1)
    }
    assert hues["for", 0] == hues["against", 1] != hues["for", 1] == hues["against", 0]


def test_anchors_are_marked_where_a_test_found_them(open_page: Any, anchors: tuple[str, Result]) -> None:
    watched = open_page(anchors[0] + "#documents")
    assert watched.page.locator(".document mark.anchor").count() > 5
    assert watched.page.locator(".effect").count() == 0
    assert watched.text(".shades").startswith("anchor")
    assert all(title.startswith("anchor:") for title in attributes(watched, ".document mark.anchor", "title"))
    watched.page.evaluate("location.hash = ''")
    watched.page.wait_for_selector(".panel .term")
    watched.page.locator(".rows.drivers .term").first.click()
    watched.page.wait_for_selector(".occurrence")
    assert watched.text(".evidence h3") == "Where it is an anchor"
    assert watched.text(".verdict").startswith("anchor: its test kept the prediction in ")


def test_documents_are_searched_and_opened(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0] + "#documents")
    watched.shot("documents-wide-light")
    n = watched.page.locator(".document").count()
    assert n == 40
    watched.page.locator(".more").click()
    assert watched.page.locator(".document").count() > n
    watched.page.get_by_label("Search").fill("film")
    watched.until("location.hash.includes('q=film')")
    assert all("film" in text.lower() for text in watched.texts(".document > .text"))
    assert watched.page.evaluate("document.activeElement.id") == "search"
    watched.page.locator(".document .badge").first.click()
    watched.page.wait_for_selector("table.words")
    assert watched.page.locator(".document").count() == 1
    watched.shot("document")
