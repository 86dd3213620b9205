"""Texts that try to be more than texts, in documents, labels, names of models and columns; and a run over them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.run import Run
from anchorscope.settings import preset
from anchorscope.text.read import read_files

CALL = "alert(1);window.pwned=1"

_ELEMENTS = [
    "<script>{}</script>",
    "</script><script>{}</script>",
    "<img src=x onerror={}>",
    "<svg onload={}>",
    "<body onload={}>",
    "<iframe srcdoc='<script>{}</script>'></iframe>",
    "<iframe src=javascript:{}></iframe>",
    "<a href=javascript:{}>click</a>",
    "<details open ontoggle={}>",
    "<video><source onerror={}></video>",
    "<audio src=x onerror={}>",
    "<input autofocus onfocus={}>",
    "<select autofocus onfocus={}>",
    "<textarea autofocus onfocus={}>",
    "<marquee onstart={}>",
    "<object data=javascript:{}>",
    "<embed src=javascript:{}>",
    "<form action=javascript:{}><button>",
    "<math><mtext></mtext><script>{}</script></math>",
    "<style>@import 'http://evil.example/x.css';</style><b onclick={}>",
    "<link rel=stylesheet href=http://evil.example/x.css onerror={}>",
    "<meta http-equiv=refresh content='0;url=javascript:{}'>",
    "<base href=http://evil.example/ onclick={}>",
    "<img src=http://evil.example/pixel.png onload={}>",
    "<template><script>{}</script></template>",
]
_WRAPPERS = [
    "{}",
    "\"'>{}",
    "]]>--></style></title></textarea></noscript></template></script>{}",
    "<!--{}",
    "{}\u2028\u2029\u202e",
]
_OTHERS = [
    "{{constructor.constructor('alert(1)')()}}",
    "${alert(1)}",
    "#{alert(1)}",
    "<%= alert(1) %>",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\\u003cscript\\u003ealert(1)",
    '=HYPERLINK("http://evil.example")',
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "__proto__ constructor toString hasOwnProperty",
    "\u0000\u0007\u001b[31m \ufeff \u200f\u202eright to left\u202c",
    "</textarea><script>alert(1)</script>",
    "<!DOCTYPE html><html><head><script>alert(1)</script>",
]
PAYLOADS = [wrapper.format(element.format(CALL)) for wrapper in _WRAPPERS for element in _ELEMENTS] + _OTHERS

LABELS = ("<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>")
GOOD = ("شكرا جزيلا", "धन्यवाद बहुत", "谢谢你们", "ありがとう", "great 😀 thanks", "תודה רבה")


class HostilePredictor:
    """Says the second label where there is praise in any language; its names are payloads."""

    name = "<script>alert('model')</script>"
    labels = LABELS
    has_probabilities = True
    fingerprint = "hostile"

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        praise = ("شكرا", "धन्यवाद", "谢", "あ", "great", "תודה")
        yes = np.array([0.9 if any(word in text for word in praise) else 0.2 for text in texts])
        return np.stack([1 - yes, yes], axis=1)


def hostile_documents(folder: Path) -> Path:
    """A CSV whose column names and labels are payloads, too."""
    import csv

    path = folder / "documents.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([LABELS[1], "<b onclick=alert(1)>label"])
        for i, payload in enumerate(PAYLOADS):
            praise = GOOD[i // 2 % len(GOOD)] if i % 2 else "bad"
            text = f"{praise} {payload.replace(chr(0), '')} number {i}"
            writer.writerow([text, LABELS[i % 2]])
    return path


def hostile_run(folder: Path) -> None:
    """Keep a run over all payloads."""
    folder.mkdir(parents=True)
    path = hostile_documents(folder)
    documents = read_files([str(path)], text_column=LABELS[1], label_column="<b onclick=alert(1)>label")
    warnings.simplefilter("ignore")  # that some are in a script without spaces
    run = Run(
        documents,
        HostilePredictor(),
        CorpusPerturbator(top_n=20),
        preset("banzhaf", min_occurrences=2, round_size=200, top_k=20),
        folder=folder,
    )
    for _ in run.snapshots():
        pass
