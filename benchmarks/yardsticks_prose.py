"""The words of docs/yardsticks.md; the numbers among them are put in by ``yardsticks_page``."""

from __future__ import annotations

from benchmarks import yardsticks_summary

HEAD = """\
# Yardsticks: whose words are best at equal model calls?

Every method makes a list of 20 words for each class of a model. It may ask the model about a given number of texts
(calls), the predictions of the documents included, and a meter holds it to that. The lists are then judged by several
yardsticks. No number on this page is written by hand.

## On one screen"""

SCREEN = """\
Each cell has the default, `{reference}`, and then the best of all other methods with its name; the higher mean is
**bold**. An arrow says that the other method is above (↑) or below (↓) `{reference}` at 5%, after correction for all
comparisons of the table further down; without an arrow the two are not told apart. *loop* is `{loop}`."""

LOST = """\
**Where `{reference}` loses**: in so many cells some other method has the higher mean: {behind}.

The same cells, rival by rival: in how many the mean of `{reference}` is the higher one, and in how many of all the
rival is told apart from it, below (↓) or above (↑):"""

BLIND = """\
**Where `{reference}` fails outright**: a rule by two words that always come together. It has {least} to {most} of the
answer at {calls} calls. These have all of it at each of these numbers of calls ([below](#rules-with-a-known-answer)):
{others}."""

HOW = """\
## How it was measured

The yardsticks (`anchorscope/evaluation/`). AOPC^20 is the mean fall of the label's probability while the words of the
list are removed one after another ([evaluation.md](evaluation.md)). An *oracle* takes every word out of every
document, one at a time, and lists the words that cost most.

- **Replacement**: AOPC^20 with listed words replaced by words of the collection, as a share of the oracle's.
- **Documents that were not explained**: AOPC^20 by deletion in other documents of the task, as a share of their own
  oracle's.
- **Insertion**: one listed word is put into a document of another class; the mean rise of the probability.
- **Stability**: the share of words that two seeds have in common. It is no quality by itself: `frequency`, which does
  not explain anything, has most of it.
- **Deletion**: AOPC^20 by deletion in the documents that were explained. It comes last, as its oracle does what
  occlusion does, and so favours `occlusion` and `fast`.
- **Planted shortcuts**, **rules with a known answer** and **retraining** have sections of their own.

Replacement and the documents that were not explained are kin of deletion: their oracles take out one word at a time,
too. Insertion, planted words and retraining are not: {best}.

The methods (`benchmarks/contenders.py`):"""

METHODS = {
    "gradient": "gradient x input, encoders only: a document a call, its way back not counted",
    "frequency": "the most frequent words of a class",
    "surrogate": "a ridge regression of the documents' own predictions on their words; no test at all",
    yardsticks_summary.LOOP: "a plain loop: the 60 words that the surrogate ranks first in a class, left out in turn",
    "occlusion": "each term of documents taken at random is left out once; the simplest rival",
    "lime": "LIME with 25 samples a document, summed with sign",
    "shap": "SHAP with 50 evaluations a document, summed with sign",
    "shapiq …": "four approximators of the library shapiq, summed with sign",
    "paper": "the paper's rule; the perturbator is `corpus`, with one pass for all masks of a sample",
    "paper-optimised": "the same with the paper's optimisations",
    "banzhaf": "our former default: blocks of samples, half of the words replaced",
    "fast": "the default: surrogate, then a race of tests that ends when its lists are settled",
    "fast, all calls": "the same without the end",
}
"""What each of them does, in a line."""

UNEQUAL = """\
What is not equal, or not measured:

- `banzhaf` and `paper-optimised` may name no stop words and no words of fewer than 5 occurrences. The oracles and the
  other methods may. How much of their distance is due to that was not measured.
- With 500 and 1,000 calls `banzhaf` tested one class of each task only, in the rows of commits before {in_turn}: the
  other has no list, which counts as 0. This is mended since, and was measured again for the rules alone.
- Its rows of commits before {twice} are of a race that measured no document again by choice.{unmade}
- `paper` and `paper-optimised` get the documents of which the model is surest, as many as two fifths of the calls
  predict. *Replacement* uses the words that their perturbator uses.
- A class without a single test has no list. In the table of the small encoder such lists of `paper`,
  `paper-optimised` and `banzhaf` are filled up with words that no test met, as its rows are older.
- A list that ends early is scored as it is.
- All of this measures plain words (`--terms plain`). `fast` and `surrogate` list signs, too: a sign takes one of 20
  places, and nothing is removed for it. How many were listed stands above the tables.

How to read the tables: **bold** is the best of a column. An arrow: above (↑) or below (↓) `fast` at 5%, by a paired
t-test over the classes, after Holm's correction for all comparisons of the table. Below each table `fast` is compared
with four rivals: the mean difference over classes, the half-width of its 95% band, and in how many classes `fast` is
ahead. There a * means that the difference is told apart at 5%, corrected for the numbers of calls of its line alone;
this is a weaker demand than an arrow. A † means that the 95% band leaves out 0, uncorrected, where all classes of a
corpus count as one case. This matters: the two classes of a task share one model, and `demo` and `rotten-tomatoes`
are splits of the same film reviews, so the cases are fewer than the classes."""

PLANTED = """\
Six made-up words for each class are planted in the texts that a linear classifier learns from, and in the documents to
be explained (`evaluation/shortcuts.py`): rare, less rare and frequent ones, one that is right in 80% of its texts only,
and two that always come together. Which of them are among the first 20 of a list?"""

RANKS = """\
Mean rank of a planted word; one that is not among the first 20 counts as the 21st. Less is better (six words in the
first six places would have 3.5), so an arrow down is better than `fast`:"""

KNOWN = """\
Made-up models go by a rule whose words, the *answer*, are known (`evaluation/known_answers.py`). A cell is the share of
the answer among the first words of a list, as many as the answer has. In *redundant* either of two words would do and
both are always there: taking out one at a time sees nothing, and what `fast` has of them it has on the word of its
surrogate. All other words are drawn at random, so none merely keeps company with the answer, and most of the rules are
close to linear in words: both favour `surrogate`."""

LEAST = """\
The least number of calls from which on every seed has all of the answer; – where no number of calls that was given
suffices:"""

KNOWN_HERE = """\
LIME, SHAP and shapiq are run by their own libraries on random documents and summed, without a race: their calls are \
not those of `--score lime`, `shap` and `shapiq` in [method.md](method.md)."""

ROAR = """\
The words of both classes' lists (made with 4,000 calls) are taken out of all texts, and a linear classifier learns and
is tested without them. The table has the accuracy that is lost, in the mean over seeds: more is better."""

PLANTING = """\
Ten neutral words of a collection are made to shift a class by 0.3 to 3 logits, `fast` runs on the model so changed,
and what it finds is compared with the truth (`python -m benchmarks.planting`). *Due* are words whose true score is one
of the 20 best, among the true scores of the planted words and the scores that the run gives the others. The
intervals are of 90%, and at least 85% were to hold the truth."""

PEERS = """\
These two ask the model so often about one document that they would see few documents with these numbers of calls, so
they are not in the tables above. From the rows of [performance.md](performance.md): AOPC^20 by deletion, the best of
their aggregations, as a share of the oracle of the same few documents, the mean over two tasks and their classes."""
