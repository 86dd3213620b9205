"""Models that nobody here wrote: the words that come out are words that they are known to weigh."""

from __future__ import annotations

import warnings
from math import log
from typing import Any

import pytest

from anchorscope import Explainer
from anchorscope.demo import reviews
from anchorscope.result import Result


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return list(reviews(seed=0)[1].texts[:400])


def explained(model: Any, texts: list[str], **given: Any) -> Result:
    return Explainer(model, top_k=10, **given).explain(texts)


def drivers(result: Result, label: str) -> list[str]:
    return [term.term for term in result[label].drivers]


def test_vader_is_driven_by_its_lexicon(texts: list[str]) -> None:
    """VADER sums the valences of its lexicon's words; negations, boosters and *but* turn and scale them."""
    from vaderSentiment.vaderSentiment import BOOSTER_DICT, NEGATE, SentimentIntensityAnalyzer

    analyzer = SentimentIntensityAnalyzer()

    def vader(some: list[str]) -> list[dict[str, float]]:
        compound = [analyzer.polarity_scores(text)["compound"] for text in some]
        return [{"negative": (1 - value) / 2, "positive": (1 + value) / 2} for value in compound]

    result = explained(vader, texts)
    weighed = {*analyzer.lexicon, *BOOSTER_DICT, *NEGATE, "but"}
    for label, sign in (("negative", -1), ("positive", 1)):
        found = drivers(result, label)
        assert len(found) >= 8 and {*found} <= weighed, found
        valences = [sign * analyzer.lexicon[term] for term in found if term in analyzer.lexicon]
        assert len(valences) >= 7 and min(valences) > 0, found


def test_a_filter_of_profanity_is_driven_by_words_that_it_weighs(texts: list[str]) -> None:
    """A linear model over counted words: the five words that drive "rude" the most raise it in a text that has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it was fitted with another version of scikit-learn
        import profanity_check.profanity_check as check

    def rude(some: list[str]) -> list[dict[str, float]]:
        return [{"clean": 1 - p, "rude": p} for p in check.predict_prob(some)]

    rude_texts = [f"{text} you {word} idiot" for text, word in zip(texts, ["stupid", "damn", "silly", "ugly"] * 30)]
    found = drivers(explained(rude, [*texts[:40], *rude_texts[:60]]), "rude")[:5]
    assert {"idiot", "stupid"} <= {*found}
    for term in found:
        assert check.predict_prob([f"the {term} film"])[0] > check.predict_prob(["the film"])[0], term


SENTENCES = {
    "de": "Das Wetter ist heute schön. Wir gehen nicht nach Hause. Der Hund schläft unter dem Tisch. "
    "Ich habe keine Zeit. Die Kinder spielen im Garten. Wann kommt der nächste Zug? Das ist nicht schlecht. "
    "Sie hat ein neues Auto gekauft.",
    "en": "The weather is nice today. We are not going home. The dog sleeps under the table. I have no time. "
    "The children are playing in the garden. When does the next train come? That is not bad. She has bought a new car.",
    "fr": "Il fait beau aujourd'hui. Nous ne rentrons pas. Le chien dort sous la table. Je n'ai pas le temps. "
    "Les enfants jouent dans le jardin. Quand arrive le prochain train ? Ce n'est pas mal. "
    "Elle a une nouvelle voiture.",
}


def test_langid_is_driven_by_words_of_the_language() -> None:
    """It weighs sequences of bytes; a driver of a language stands in sentences of it, and it raises the language.

    The documents are all runs of two to four words: most of what is taken out does nothing, and now and then a language
    turns, so how many words are named depends on the seed (0 to 15 at six seeds). A stranger is rare; "le prochain
    train" is English to langid. A word of two languages is none: *train* is an English word.
    """
    from langid.langid import LanguageIdentifier, model

    identifier = LanguageIdentifier.from_modelstring(model, norm_probs=True)
    identifier.set_languages([*SENTENCES])

    def languages(some: list[str]) -> list[dict[str, float]]:
        return [{name: float(p) for name, p in sorted(identifier.rank(text))} for text in some]

    own = {language: [f"{s}." for s in text.split(".") if s.strip()] for language, text in SENTENCES.items()}
    sentences = [sentence.split() for group in own.values() for sentence in group]
    short = [" ".join(s[i : i + n]) for s in sentences for n in (2, 3, 4) for i in range(len(s) - n + 1)]
    n_found = n_strangers = 0
    for seed in range(4):
        result = explained(languages, short, settings={"min_occurrences": 1}, random_state=seed)
        for language, text in SENTENCES.items():
            found = drivers(result, language)
            n_found += len(found)
            n_strangers += sum(term not in text.lower() for term in found)
    assert n_found >= 8 and n_strangers <= n_found // 5


REVIEWS = [
    "这部电影很好看",
    "这家店的服务很差",
    "质量不错,我很喜欢",
    "太失望了,再也不来了",
    "非常好,推荐大家购买",
    "房间很脏,味道难闻",
    "内容精彩,值得一看",
    "垃圾,根本不能用",
    "价格便宜,性价比很高",
    "屏幕有问题,退货了",
    "孩子很喜欢这本书",
    "书的内容很无聊",
    "环境优美,服务周到",
    "前台态度恶劣",
    "早餐丰富,位置方便",
    "电池很烂,一天就坏了",
    "包装精美,送货很快",
    "很后悔买了这个",
    "故事感人,写得很好",
    "浪费时间,别买",
]


def test_snownlp_is_driven_by_words_that_its_table_weighs() -> None:
    """A naive Bayes classifier over its counts of words: those of a term that it has counted speak for the label."""
    from snownlp import SnowNLP, seg, sentiment

    counts = sentiment.classifier.classifier.d
    totals = {label: table.getsum() for label, table in counts.items()}

    def sentiments(some: list[str]) -> list[dict[str, float]]:
        found = [SnowNLP(text).sentiments if text.strip() else 0.5 for text in some]
        return [{"neg": 1 - p, "pos": p} for p in found]

    result = explained(sentiments, REVIEWS, settings={"min_occurrences": 1})
    for label, other in (("neg", "pos"), ("pos", "neg")):
        listed = [term.term for term in result[label].terms if term.score > 0][:8]
        parts = {term: seg.seg(term) for term in listed}
        known = {term: [w for w in parts[term] if any(t.exists(w) for t in counts.values())] for term in listed}
        counted = [term for term in listed if known[term]]
        assert len(counted) >= 5, listed
        weights = [
            sum(
                log((1 + counts[label].get(word)[1]) / totals[label])
                - log((1 + counts[other].get(word)[1]) / totals[other])
                for word in known[term]
            )
            for term in counted
        ]
        assert sum(weight > 0 for weight in weights) >= 0.8 * len(weights), [*zip(counted, weights)]
