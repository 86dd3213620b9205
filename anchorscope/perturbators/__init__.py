"""The noise: what could stand at the masked words of a text, behind the contract ``Perturbator`` of ``types``.

mask_token   a fixed token, or nothing
corpus       words of the user's own documents, by the words beside them: no weights, any language
embedded     our own small English masked language model, shipped with the package, on onnxruntime
masked_lm    any masked language model in a Hugging Face folder, on torch

choose.py picks one of them. Both language models share how masked texts become the rows of numbers that a model reads
(windows.py); how the embedded one cuts words into pieces is in wordpieces.py.

In: words and masks. Out: proposals, for every masked position some words with their probabilities. May import: text,
asking.
"""

from types import MappingProxyType

PERTURBATORS = MappingProxyType(
    {
        "corpus": "anchorscope.perturbators.corpus:CorpusPerturbator.named",
        "embedded": "anchorscope.perturbators.embedded:EmbeddedPerturbator.named",
        "mask-token": "anchorscope.perturbators.mask_token:MaskTokenPerturbator.named",
        "masked-lm": "anchorscope.perturbators.masked_lm:MaskedLMPerturbator.named",
    }
)
"""Each is called with what stands behind the colon of its name, ``top_n`` and ``device``."""
