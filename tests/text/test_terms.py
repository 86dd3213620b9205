import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorscope.errors import InputError, MissingPackageError, UnknownNameError
from anchorscope.text import cut as cutting
from anchorscope.text import rule, segmenters
from anchorscope.text.cut import cut
from anchorscope.text.rule import KINDS, PLAIN, checked_kinds, compounds, kind_and_key, words_in
from anchorscope.text.segmenters import languages, needed_segmenters, segments
from anchorscope.text.terms import keys_by_position, terms_of, terms_of_all
from anchorscope.text.words import removals

ALL = ",".join(KINDS)
SIGNS = "aAoODTPx8W3059_ .,:;=<>()[]{}|\\/*$@#&!?'’\"-^…\n"
WESTERN = st.lists(
    st.sampled_from([*SIGNS, "http://", "www.", "t.co", ":-)", "!!", "3.5", "#a_b", "@bob", " so "]), max_size=25
).map("".join)
ANYTHING = st.lists(
    st.sampled_from(
        [*SIGNS, "https://", "漢字", "カナ", "ก็ดี", "👍🏽", "🇫🇷", "！", "？", "é", "\u0301", "\u00ad", "\u200d", "²"]
    ),
    max_size=25,
).map("".join)


def merged(text):
    """The words of a text, merged as terms take them up."""
    found = cut([text], merged=True)
    return [found.words[number] for number in found.numbers]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("so good:) :-( :D xD", ["so", "good", ":)", ":-(", ":D", "xD"]),
        ("well :))) >:( :'( (: <3 </3", ["well", ":)))", ">:(", ":'(", "(:", "<3", "</3"]),
        ("^_^ -_- o_O T_T 8-) :/", ["^_^", "-_-", "o_O", "T_T", "8-)", ":/"]),
        ("no! what?! wait... --", ["no", "!", "what", "?!", "wait", "...", "--"]),
        ("3.5 1,000.50 v3.5 10:30 19th.", ["3.5", "1,000.50", "v3.5", "10", ":", "30", "19th", "."]),
        ("3.5kg", ["3", ".", "5kg"]),
        ("#MeToo, #stay_home #1 a#b &#39;", ["#MeToo", ",", "#stay_home", *"#1a#b&#", "39", ";"]),
        ("@bob's bob@example.com @_x", ["@bob's", "bob", "@", "example", ".", "com", "@_x"]),
        ("(https://t.co/x1.) www.a.com/b?c=d!", ["(", "https://t.co/x1", ".", ")", "www.a.com/b?c=d", "!"]),
        ('<a href="http://x.y/">', ["<", "a", "href", "=", '"', "http://x.y/", '"', ">"]),
        # What looks like an emoticon inside other things is none.
        ("Note:(a) 3:3 x:D and/or", ["Note", ":", "(", "a", ")", *"3:3x:D", "and", "/", "or"]),
        ("x:// http://<", ["x", ":", "//", "http", ":", "//", "<"]),
        ("👍🏽👍🏽 🇫🇷🇫🇷 😂😂", ["👍🏽", "👍🏽", "🇫🇷", "🇫🇷", "😂", "😂"]),
        ("שלום! مرحبا؟؟ #שלום", ["שלום", "!", "مرحبا", "؟؟", "#שלום"]),
        ("हिन्दी #हिन्दी", ["हिन्दी", "#हिन्दी"]),
    ],
)
def test_words_that_are_one_term_are_merged(text, expected):
    assert merged(text) == expected


@pytest.mark.parametrize(
    ("written", "kind", "key"),
    [
        ("Straße", "words", "strasse"),
        ("covid19", "words", "covid19"),
        ("don’t", "words", "don't"),
        ("電影", "words", "電影"),
        ("19", "numbers", "19"),
        ("½", "numbers", "½"),
        ("1,000", "numbers", "1,000"),
        ("!", "signs", "!"),
        ("！", "signs", "!"),
        ("!!", "signs", "!!"),
        ("!!!!!!", "signs", "!!!"),
        ("!?!", "signs", "?!"),
        ("⁉", "signs", "?!"),
        ("…", "signs", "..."),
        ("......", "signs", "..."),
        ("$", "signs", "$"),
        (":)))", "signs", ":)"),
        (":D", "signs", ":d"),
        ("<3", "signs", "<3"),
        ("T_T", "signs", "t_t"),
        ("👍🏽", "emoji", "👍🏽"),
        ("❤\ufe0f", "emoji", "❤"),
        ("1\ufe0f\u20e3", "emoji", "1\u20e3"),
        ("#MeToo", "hashtags", "#metoo"),
        ("＃日本", "hashtags", "#日本"),
        ("@Bob", "mentions", "@bob"),
        ("https://T.co/x1", "links", "t.co/…"),
        ("www.a.com/b", "links", "a.com/…"),
        (".", "punctuation", "."),
        ("“", "punctuation", "“"),
    ],
)
def test_the_kind_and_the_key_of_a_term(written, kind, key):
    assert kind_and_key(written) == (kind, key)


@given(WESTERN | ANYTHING)
def test_a_key_is_its_own_key(text):
    for key, _ in terms_of(text, ALL):
        assert kind_and_key(key)[1] == key


@given(WESTERN | ANYTHING)
def test_every_word_is_in_one_term_or_none_and_terms_are_stretches_of_the_text(text):
    found = cut([text], merged=True)
    assert found.n_words.sum() == len(words_in(text))
    assert found.first.tolist() == (np.cumsum(found.n_words) - found.n_words).tolist()
    assert all(word in text for word in found.words)
    assert list(keys_by_position([text], ALL)[0]) == list(range(len(words_in(text))))


@given(WESTERN)
def test_the_quick_form_for_latin_texts_finds_the_same_compounds(text):
    general = [(m.start() - (m.lastindex == 1), m.end()) for m in rule._ANY_COMPOUND.finditer(text)]
    assert compounds(text) == general


@given(st.lists(WESTERN, max_size=5))
def test_texts_that_are_cut_together_are_merged_as_each_by_itself(texts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "LONGEST", -1)
        one_by_one = terms_of_all(texts, ALL)
    assert terms_of_all(texts, ALL) == one_by_one


@pytest.mark.parametrize(
    "part",
    [":", "(", "!", "?!", "www.", "http://", "1.", "1", "#", "#1", "@", "a_", "-_", ">", "'", "😀\u200d", "🏽", "🇩"],
)
def test_time_is_linear(part):
    def seconds(repeats):
        text = part * repeats
        best = float("inf")
        for _ in range(2):
            start = time.process_time()
            compounds(text)
            best = min(best, time.process_time() - start)
        return best

    assert seconds(100_000) < 50 * max(seconds(10_000), 0.001)


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ("So good :) really", ":)", "So good really"),
        ("Great!!! Really", "!!!", "Great Really"),
        ("Great! Really!", "!", "Great Really"),
        ("here https://t.co/x1, and https://t.co/x2", "t.co/…", "here, and"),
        ("#MeToo is here", "#metoo", "is here"),
        ("so👍good", "👍", "so good"),
        ("3.5 stars", "3.5", "stars"),
        ("COVID-19 scams", "19", "COVID- scams"),
        ("an anti-war film", "anti", "an -war film"),
        ("good and/or bad", "or", "good and/ bad"),
        ("a (great film)", "great", "a (film)"),
        ("a film, great.", "great", "a film,."),
    ],
)
def test_a_text_without_a_term_is_as_somebody_would_write_it(text, key, expected):
    positions = [place for term, places in terms_of(text, ALL) if term == key for place in places]
    assert removals(text, [positions]) == [expected]


def test_kinds_that_are_not_asked_for_are_no_terms_and_neither_are_their_parts():
    text = "Great 3.5 :) https://t.co/x1 #MeToo, @bob 👍 !"
    assert [key for key, _ in terms_of(text, "words")] == ["great"]
    assert [key for key, _ in terms_of(text, "signs,links")] == [":)", "t.co/…", "!"]
    assert [key for key, _ in terms_of(text, "punctuation")] == [","]
    assert [key for key, _ in terms_of(text, PLAIN)] == [
        "great",
        "3",
        "5",
        "https",
        "t",
        "co",
        "x1",
        "metoo",
        "bob",
        "👍",
    ]


def test_kinds_are_checked():
    assert checked_kinds("signs,words,signs") == "words,signs"
    with pytest.raises(UnknownNameError, match="did you mean 'signs'"):
        checked_kinds("sings")
    with pytest.raises(InputError, match="name it alone"):
        checked_kinds("plain,signs")


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("Chinese", "这部电影非常精彩!", ["这部", "电影", "非常", "精彩", "!"]),
        ("Japanese", "この映画は面白い。", ["この", "映画", "は", "面白い"]),
        ("Thai", "หนังเรื่องนี้สนุกมาก", ["หนัง", "เรื่อง", "นี้", "สนุก", "มาก"]),
    ],
)
def test_words_without_spaces_are_found_by_a_segmenter(language, text, expected):
    package = segmenters.SEGMENTERS[language].package
    pytest.importorskip(package)
    assert languages(text) == {language}
    assert [key for key, _ in terms_of(text, "words,signs")] == expected
    assert [key for key, _ in terms_of(f"so {text}", "words,signs")] == ["so", *expected]
    assert needed_segmenters([text]) == {package: segmenters.installed(package)}
    assert len(terms_of(text, PLAIN)) > len(expected)


def test_several_languages_in_one_text_and_words_that_no_segmenter_may_cut():
    pytest.importorskip("janome")
    assert languages("日本語とภาษาไทย") == {"Japanese", "Thai"}
    assert "コンピュータゲーム" in merged("コンピュータゲームだ")  # a run of Katakana is a word
    assert merged("#日本語 だ")[0] == "#日本語"


@pytest.fixture
def without_jieba(monkeypatch):
    monkeypatch.setattr(segmenters, "installed", lambda package: segmenters.MISSING)
    monkeypatch.setattr(segmenters, "_cutter", lambda language: list)


def test_a_missing_segmenter_is_named(without_jieba):
    with pytest.raises(MissingPackageError, match=r"'jieba' is needed for the words of texts in Chinese.*\[cjk\]"):
        needed_segmenters(["这部电影", "a film"])
    assert needed_segmenters(["a film", "été"]) == {}


def test_a_language_in_few_documents_does_not_end_a_run_and_is_said(without_jieba):
    with pytest.warns(UserWarning, match="1 of 21 documents hold Chinese, where each character is taken for a word"):
        assert needed_segmenters(["这部电影", *["a film"] * 20]) == {"jieba": segmenters.MISSING}
    assert segments("这部") == [(0, 1), (1, 2)]
