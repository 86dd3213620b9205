from typing import Any

from anchorscope.journal.identity import differences
from anchorscope.settings import Settings, preset

KINDS = ("documents", "model", "perturbator", "training texts")


def identity(settings: Settings | None = None, **given: Any) -> dict[str, Any]:
    return {
        **{kind: {"sha256": "1"} for kind in KINDS},
        "labels": ["no", "yes"],
        "texts": True,
        "segmenters": {},
        "settings": (settings or Settings()).to_dict(),
        **given,
    }


def test_the_same_run_goes_on():
    assert differences(identity(), identity()) == []


def test_words_that_another_segmenter_cut_are_another_run():
    found = differences(identity(), identity(segmenters={"jieba": "0.42.1"}))
    assert found == ["words were cut by no segmenter, now by jieba 0.42.1"]


def test_a_run_from_before_there_were_kinds_of_terms_had_plain_words():
    then = identity(preset("banzhaf"))
    del then["segmenters"], then["settings"]["terms"]
    assert differences(then, identity(preset("banzhaf"))) == []
    then = identity(preset("fast", terms="plain"))
    del then["settings"]["terms"]
    assert differences(then, identity())[0].startswith("terms was plain, now words,numbers,signs")
