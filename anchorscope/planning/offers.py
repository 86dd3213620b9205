"""What a race of whole documents may buy next, and what each offer is expected to gain for a call.

A list is in doubt because the totals of its words are. Of a word that N documents hold and n are tested in, the
variance of the total has two parts: what documents that are not tested bring, and the noise of measuring,

    V  =  N^2 (1 - n/N) S^2 / n   +   (N / n)^2 sum of v_d / m_d

S^2 being the variance between documents, v_d that of one measurement of document d, and m_d how often d is measured.

    a new document           takes N / ((N - n) (n + 1)) of the first part, and 1 / (n + 1) of the second
    a further measurement    of document d takes (N / n)^2 v_d / (m_d (m_d + 1)) of the second

So a new document takes more than twice as much of a word as a measurement, as long as the word has documents left;
where it has none, samples are all that can be bought. An offer serves all words of its document, each by what a unit of
its variance costs the list: the doubt whether the word is a member, over the width of its interval. A word that 10 of
40 documents are tested of, with S^2 = 1 and v = 1/2, has a variance of 120 + 80:

>>> word = Doubts(*(np.array([x]) for x in (0, 40, 10, 1.0, 200.0, 80.0)))
>>> word.of_document.round(1).tolist(), (word.of_noise * 0.5 / (1 * 2)).tolist()
([21.8], [4.0])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

MOST_MEASURED = 4
"""How often a document is measured at most: by then the noise of its values is half of what it was."""


@dataclass(frozen=True, slots=True, eq=False)
class Doubts:
    """The words that the list of a label hangs on, each (words,): how many ``documents`` hold them and are ``tested``,
    what a unit of their variance is ``worth``, what the ``variance`` of their totals is, and how much of it ``noise``.
    """

    words: Numbers
    documents: Numbers
    tested: Numbers
    worth: Floats
    variance: Floats
    noise: Floats

    @property
    def of_document(self) -> Floats:
        """What is gained by one more document of each word; nothing where all are tested."""
        left = self.documents - self.tested
        noise = np.minimum(self.noise, self.variance)
        share = self.documents / (np.maximum(left, 1) * (self.tested + 1))
        return self.worth * np.where(left > 0, (self.variance - noise) * share + noise / (self.tested + 1), 0.0)

    @property
    def of_noise(self) -> Floats:
        """What is gained for each unit of variance by which the value of a tested document becomes surer."""
        return self.worth * (self.documents / np.maximum(self.tested, 1)) ** 2


def calls_of(calls: Floats, sizes: Numbers) -> Floats:
    """What a measurement of any document takes, (documents,), given what one took of those measured (0: of the others)
    and how many candidates each holds: a straight line through them.

    >>> calls_of(np.array([20.0, 40.0, 0.0]), np.array([10, 20, 15])).round(6).tolist()
    [20.0, 40.0, 30.0]
    """
    known = np.flatnonzero(calls)
    if not len(known):
        return np.ones(len(sizes))
    straight = np.polyfit(sizes[known], calls[known], 1) if np.ptp(sizes[known]) else [calls[known].mean()]
    return np.where(calls > 0, calls, np.maximum(np.polyval(straight, sizes), 1.0))
