"""How good an explanation is: what removing its words does, beside other ways to choose words.

attributions   mean weight of a local attribution method over the documents of a label, absolute or signed
lime, shap     the two local attribution methods that people use instead, each behind one function
lists          the lists of words that an explanation is compared with
kept           a kept run with its documents and its model
evaluate       AOPC of all lists, as shares of an oracle's, over seeds
substitutes    what stands in the place of a removed word
greedy, linear two more oracles
sentences      what a sentence with a top word in it does to the accuracy; proposals makes such sentences
anytime        quality over measured time
yardsticks     lists of equal length under several yardsticks: removal, insertion; stability over seeds
shortcuts      words planted in training data; known_answers: rules whose answer is known
planted        words planted in a user's own model (planted_model): what a run finds of them

In: lists of words, documents, a model, a kept run. Out: figures of quality, as values and as tables. May import: text,
asking, scoring, settings, planning, journal, result.
"""
