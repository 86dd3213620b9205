"""How good an explanation is: what removing its words does, beside other ways to choose words.

attributions   mean |weight| of a local attribution method over the documents of a label
lime, shap     the two local attribution methods that people use instead, each behind one function
"""
