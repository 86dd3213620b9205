"""The experimental section of the paper as one command that can be interrupted and continued.

tasks       documents, cleaning, splits
models      logistic regression, a small BERT-type classifier, a DeBERTa-type one; finetune and pretrain train them
grid        the settings of the experiments, by name
agreements  what was drawn and judged, a bit a sample; learnt and remembered: perturbator and model of a task
replay      a backend that reads them: the real run, with answers that are known
measure     one setting: cost, words, quality over time
records     one small JSON file a run
driver      tasks x models x seeds x settings, one after another
summary     the records as rows
figures, tables, page
            pictures, CSV files and the page of claims, all from the records alone
claims      what the paper says; rules decide whether it holds

In: tasks, models and settings by name. Out: records, and tables, pictures and a page that are drawn from them. May
import: text, asking, sampling, scoring, settings, local_scores, journal, predictors, perturbators, embedded_model, run,
demo, evaluation.
"""
