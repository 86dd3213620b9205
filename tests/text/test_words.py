import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorscope.errors import UnknownNameError
from anchorscope.text import rule
from anchorscope.text.rule import are_one, has_words, words_in
from anchorscope.text.words import (
    case_of,
    clean_tweet,
    compose,
    join,
    match_case,
    replace,
    spans,
    split,
    stop_words,
    stretches,
    term,
    terms,
)
from anchorscope.types import Words

ANY_TEXT = st.text(st.characters(), max_size=60)  # every code point, lone surrogates too
TRICKY_TEXT = st.text(
    st.sampled_from(
        "aÉß'’-_.,!# \t\n\0\u00a0\u00ad\u0301\u200b\u200c\u200d\u2060\ufe0f\u20e31²½〇漢かカー가กאع👍🏽❤🇩🇪©…“\ud83d"
    )
)
LATIN_TEXT = st.text(st.sampled_from("abzAZ059éÉßøÿŁȳ'’‘“”…–—-_.,;!?#@$%&*()[]{}<>~`^|\\/+=\" \t\n\r"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop, won’t you?", ["Don't", "stop", ",", "won’t", "you", "?"]),
        ("l'été du rock'n'roll", ["l'été", "du", "rock'n'roll"]),
        ("'quoted' dogs' tails", ["'", "quoted", "'", "dogs", "'", "tails"]),
        ("covid-19 snake_case 3.5", ["covid", "-", "19", "snake", "_", "case", "3", ".", "5"]),
        ("e\u0301te\u0301 nai\u0308ve", ["e\u0301te\u0301", "nai\u0308ve"]),
        ("שלום עולם, مرحبا بالعالم", ["שלום", "עולם", ",", "مرحبا", "بالعالم"]),
        ("می‌خواهم", ["می‌خواهم"]),  # Persian: a zero-width non-joiner inside a word
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("no\0gap\u200bhere", ["no", "gap", "here"]),
        ("wait...", ["wait", ".", ".", "."]),
        ("", []),
        (" \n\u00a0", []),
    ],
)
def test_words_of_a_text(text, expected):
    assert list(split(text).words) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("very👍good", ["very", "👍", "good"]),
        ("👍🏽👍🏽", ["👍🏽", "👍🏽"]),  # skin tones
        ("👨‍👩‍👧‍👦❤️‍🔥", ["👨‍👩‍👧‍👦", "❤️‍🔥"]),  # joined by zero-width joiners
        ("🇩🇪🇫🇷", ["🇩🇪", "🇫🇷"]),  # flags are pairs of letters
        ("🏴󠁧󠁢󠁳󠁣󠁴󠁿!", ["🏴󠁧󠁢󠁳󠁣󠁴󠁿", "!"]),  # Scotland: a black flag and tags
        ("1️⃣2️⃣#️⃣", ["1️⃣", "2️⃣", "#️⃣"]),  # keycaps
    ],
)
def test_an_emoji_is_one_word_and_has_a_term(text, expected):
    words = split(text)
    assert list(words.words) == expected
    assert [key is None for key in terms(words)] == [word == "!" for word in expected]


def test_scripts_without_spaces_are_cut_as_uax_29_does_without_a_dictionary():
    assert split("我喜欢カタカナと漢字").words == ("我", "喜", "欢", "カタカナ", "と", "漢", "字")
    assert split("日本語test中文").words == ("日", "本", "語", "test", "中", "文")
    assert split("ก็ดี").words == ("ก็", "ดี")


@given(ANY_TEXT | TRICKY_TEXT | LATIN_TEXT)
def test_nothing_is_lost(text):
    words = split(text)
    assert join(words) == text
    assert len(words.gaps) == len(words) + 1
    assert all(words.words)
    assert [text[start:end] for start, end in spans(words)] == list(words.words)
    assert has_words(text) == (len(words) > 0)


@given(ANY_TEXT | TRICKY_TEXT | LATIN_TEXT)
def test_words_alone_are_those_of_the_split(text):
    assert words_in(text) == list(split(text).words)


@given(ANY_TEXT | TRICKY_TEXT)
def test_gaps_hold_nothing_visible_and_words_do_not_start_with_space(text):
    words = split(text)
    assert not any(character.isprintable() and character != " " for gap in words.gaps for character in gap)
    assert not any(word[0].isspace() for word in words.words)


@given(LATIN_TEXT)
def test_the_quick_rule_for_latin_texts_is_the_rule(text):
    pieces = rule._WORD.split(text)
    assert rule._IS_LATIN.fullmatch(text)
    assert split(text) == Words(tuple(pieces[1::2]), tuple(pieces[::2]))


def test_the_quick_rule_agrees_on_every_character_that_it_takes():
    taken = [chr(code) for code in range(0x3000) if rule._IS_LATIN.fullmatch(chr(code))]
    assert len(taken) > 500
    for character in taken:
        text = f"a{character}b {character}"
        pieces = rule._WORD.split(text)
        assert split(text) == Words(tuple(pieces[1::2]), tuple(pieces[::2])), character


@pytest.mark.parametrize(
    "part",
    [
        "word ",
        "a",
        "a'",
        "'",
        "\u0301",
        "\u200d",
        "👩\u200d",
        "漢",
        "カ",
        "🇩",
        "1\ufe0f",
        " ",
        "\0",
        "\ud800",
        "a\u00ad",
        "<a ",
    ],
)
def test_time_is_linear(part):
    """Ten times the text takes nearer to ten times the time than to a hundred times."""

    def seconds(repeats):
        text = part * repeats
        best = float("inf")
        for _ in range(2):
            start = time.process_time()
            terms(split(text))
            clean_tweet(text)
            best = min(best, time.process_time() - start)
        return best

    assert seconds(100_000) < 50 * max(seconds(10_000), 0.001)


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("Great", "great"),
        ("DON’T", "don't"),
        ("Straße", "strasse"),
        ("E\u0301te\u0301", "été"),
        ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        ("❤\ufe0f", "❤"),
        ("so\u00adlution", "solution"),
        ("19", "19"),
        ("½", "½"),
        ("漢", "漢"),
        ("🇫🇷", "🇫🇷"),
        ("!", None),
        ("_", None),
        ("$", None),
        ("™", None),
        ("\u0301", None),
        ("", None),
    ],
)
def test_the_key_of_a_word(word, key):
    assert term(word) == key


@given(ANY_TEXT | TRICKY_TEXT)
def test_a_term_is_its_own_key(text):
    for key in terms(split(text)):
        assert key is None or term(key) == key


@pytest.mark.parametrize(
    ("text", "removed", "expected"),
    [
        ("a great film", {"great"}, "a film"),
        ("great film", {"great"}, "film"),
        ("film great.", {"great"}, "film."),
        ("film great", {"great"}, "film"),
        ("(great film)", {"great"}, "(film)"),
        ("so (great)!", {"great"}, "so ()!"),
        ("Great, GREAT, great", {"great"}, ",,"),
        ("a great  big\nfilm", {"great", "big"}, "a\nfilm"),
        ("great big film", {"great", "big"}, "film"),
        (" great film ", {"great"}, " film "),
        ("well-made film", {"made"}, "well-film"),
        ("👍great film", {"great"}, "👍 film"),
        ("我不喜欢", {"不"}, "我喜欢"),
        ("great", {"great"}, ""),
        ("greater film", {"great"}, "greater film"),
        ("don’t stop", {"don't"}, "stop"),
    ],
)
def test_removal_takes_the_word_and_one_gap(text, removed, expected):
    words = split(text)
    positions = [position for position, key in enumerate(terms(words)) if key in removed]
    assert replace(words, dict.fromkeys(positions, "")) == expected


@pytest.mark.parametrize(
    ("text", "fills", "expected"),
    [
        ("A great film.", {1: "bad", 3: "!"}, "A bad film!"),
        ("Hello, world", {1: ""}, "Hello world"),
        ("a (great) film", {1: "", 2: "", 3: ""}, "a film"),
        ("Wow! (great) film", {2: "", 3: "", 4: ""}, "Wow! film"),
        ("good film, bad", {1: "", 2: ""}, "good bad"),
        ("film (great).", {1: "", 2: "", 3: ""}, "film."),
        ("stay-at home", {1: ""}, "stay at home"),
        ("Hello, world", {1: "and"}, "Hello and world"),
        ("stay-at home", {1: "or"}, "stay or at home"),
        ("stay-at home", {1: "'"}, "stay'at home"),
    ],
)
def test_words_never_run_together(text, fills, expected):
    assert replace(split(text), fills) == expected


@given(TRICKY_TEXT | LATIN_TEXT, st.randoms(use_true_random=False))
def test_compose_writes_each_row_as_replace_does(text, random):
    words = split(text)
    choices = [[random.choice([word, "", "fill", ",", "漢"]) for word in words.words] for _ in range(4)]
    kept = [[word or "x" for word in row] for row in choices]
    rows = np.empty((8, len(words)), object)
    rows[:] = choices + kept
    assert compose(words, rows) == [replace(words, dict(enumerate(row))) for row in rows.tolist()]


@given(ANY_TEXT | TRICKY_TEXT)
def test_composing_the_words_themselves_gives_the_text(text):
    words = split(text)
    rows = np.empty((2, len(words)), object)
    rows[:] = words.words
    assert compose(words, rows) == [text, text]
    assert replace(words, {}) == text


@given(st.lists(st.text(alphabet="aZ0,#*'’é🙂", min_size=1, max_size=3), min_size=1, max_size=5), st.data())
def test_stretches_are_what_stands_between_the_spaces_that_replace_puts(chosen, data):
    gaps = [data.draw(st.sampled_from(["", "", "\t"])) for _ in range(len(chosen) + 1)]
    assert stretches(chosen, gaps) == replace(Words(tuple(chosen), tuple(gaps)), {}).split(" ")


@given(
    st.text(alphabet=st.characters(max_codepoint=127), min_size=1, max_size=3),
    st.text(alphabet=st.characters(max_codepoint=127), min_size=1, max_size=3),
)
def test_the_short_rule_for_running_together_is_the_rule(left, right):
    assert are_one(left, right) == rule._are_one(left, right)


@given(LATIN_TEXT, st.sets(st.integers(0, 30)))
def test_removing_leaves_exactly_the_other_words(text, positions):
    """Apostrophes apart: they bind what comes to stand around them, as in dogs' [great] tails."""
    words = split(text.translate({ord("'"): None, ord("’"): None}))
    left = [word for position, word in enumerate(words.words) if position not in positions]
    assert list(split(replace(words, dict.fromkeys(positions, ""))).words) == left


@pytest.mark.parametrize(
    ("original", "fill", "expected"),
    [
        ("Great", "good", "Good"),
        ("GREAT", "good", "GOOD"),
        ("great", "good", "good"),
        ("I", "they", "they"),
        ("iPhone", "good", "good"),
        ("Don't", "can't", "Can't"),
        ("DON'T", "can't", "CAN'T"),
        ("U2", "good", "good"),
        ("E\u0301", "good", "good"),  # one capital letter and its accent
        ("Élan", "été", "Été"),
        ("19", "good", "good"),
        (",", "good", "good"),
        ("Great", "", ""),
    ],
)
def test_a_fill_takes_the_capitals_of_the_word_it_replaces(original, fill, expected):
    assert match_case(original, fill) == expected


def test_the_case_of_a_word_is_a_number_to_index_with():
    words = ["great", "Great", "GREAT", "iPhone", "I", "O'Brien", "COVID19", "!", ""]
    assert [case_of(word) for word in words] == [0, 1, 2, 0, 0, 0, 2, 0, 0]


@pytest.mark.parametrize(
    ("tweet", "expected"),
    [
        ("#StayHome", "stayhome"),
        ("see https://t.co/a?b=c and www.who.int now", "see  and  now"),
        ("@who @CDC_gov said so", "said so"),
        ("<p class='x'>Hi</p><br/>there", "hithere"),
        ("I <3 u", "i <3 u"),
        ("Covid-19", "covid 19"),
        ("Really...", "really.."),
    ],
)
def test_cleaning_of_tweets(tweet, expected):
    assert clean_tweet(tweet) == expected


def test_the_short_list_keeps_what_carries_meaning():
    meaning = "not no never nor good great very too only against few more most but without don't won't can't isn't so"
    assert stop_words("short").isdisjoint(meaning.split())
    assert stop_words("short") >= {"a", "the", "i", "it", "it's", "of", "and", "is", "was", "with"}
    assert stop_words("none") == frozenset()


def test_the_list_of_nltk_is_complete():
    assert len([word for word in stop_words("nltk") if word.isascii()]) == 179
    assert {"②the", "①the"} <= stop_words("nltk") and len(stop_words("nltk")) == 3 * 179  # on either side of a pair
    assert stop_words("nltk") >= {"not", "don", "don't", "ain", "wouldn't", "very", "s", "t"}


def test_an_unknown_list_is_named_with_near_misses():
    with pytest.raises(UnknownNameError, match=r"There is no list of stop words 'ntlk'; did you mean 'nltk'\?"):
        stop_words("ntlk")


def test_stop_words_are_terms_one_a_line_and_sorted():
    from importlib import resources

    for name in ("short", "nltk"):
        lines = resources.files("anchorscope").joinpath(f"text/stop_words/{name}.txt").read_text("utf-8").splitlines()
        assert lines == sorted(set(lines))
        assert [term(line) for line in lines] == lines


def test_the_module_shows_itself():
    shown = subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "anchorscope.text.words", "So good!"],
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    assert [line.split() for line in shown.stdout.splitlines()] == [
        ["0–2", "'So'", "so"],
        ["3–7", "'good'", "good"],
        ["7–8", "'!'", "–"],
    ]
