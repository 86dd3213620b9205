"""How much a term does in a document: the local scores, each behind the contract ``LocalScore`` of ``types``.

One question, a family of answers. With P the probability of the label that the model says, the effect of a term is

    E[ P | term kept, each other word kept with probability q ] - E[ P | term replaced, the others likewise ]

occlusion  q = 1: leave one out; one call, no noise, blind to redundancy
banzhaf    q = 1/2, words replaced: the Banzhaf value; a block of samples serves all words of a document
shapley    q itself uniform, terms left out: the Shapley value; two walks serve all terms of a document
anchor     the paper's: does the decision hold with probability tau while the term is kept? yes or no

The same by libraries (the extra ``scores``), terms being left out:

lime       a linear model around the document, near samples counting more     lime
shap       Shapley values by a weighted regression, Kernel SHAP               shap
shapiq     Banzhaf values by a regression                                     shapiq

And to first order, by gradients, for torch models:

gradient-x-input      the slope at the document                               Captum
integrated-gradients  the slope on the way from an empty document             Captum

In: units (a document and some occurrences in it). Out: measurements, a row an occurrence. May import: text, asking,
sampling, settings.
"""

from types import MappingProxyType

SCORES = MappingProxyType(
    {
        "anchor": "anchorscope.local_scores.anchor:AnchorScore",
        "banzhaf": "anchorscope.local_scores.banzhaf:BanzhafScore",
        "gradient-x-input": "anchorscope.local_scores.gradient_x_input:GradientXInputScore",
        "integrated-gradients": "anchorscope.local_scores.integrated_gradients:IntegratedGradientsScore",
        "lime": "anchorscope.local_scores.lime_weights:LimeScore",
        "occlusion": "anchorscope.local_scores.occlusion:OcclusionScore",
        "shap": "anchorscope.local_scores.kernel_shap:ShapScore",
        "shapiq": "anchorscope.local_scores.faithful_banzhaf:ShapiqScore",
        "shapley": "anchorscope.local_scores.shapley:ShapleyScore",
    }
)
"""Each is called with a predictor, a fitted perturbator and the settings."""
