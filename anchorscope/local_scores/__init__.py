"""How much a term does in a document: the local scores, each behind the contract ``LocalScore`` of ``types``.

One question, a family of answers. With P the probability of the label that the model says, the effect of a term is

    E[ P | term kept, each other word kept with probability q ] - E[ P | term replaced, the others likewise ]

occlusion q = 1: leave one out; one call, no noise, blind to redundancy
banzhaf   q = 1/2: the Banzhaf value
anchor    the paper's: does the decision hold with probability tau while the term is kept? yes or no

In: units (a document and some occurrences in it). Out: measurements, a row an occurrence. May import: text, asking,
sampling.
"""

from types import MappingProxyType

SCORES = MappingProxyType(
    {
        "anchor": "anchorscope.local_scores.anchor:AnchorScore",
        "banzhaf": "anchorscope.local_scores.banzhaf:BanzhafScore",
        "occlusion": "anchorscope.local_scores.occlusion:OcclusionScore",
    }
)
"""Each is called with a predictor, a fitted perturbator and the settings."""
