"""The embedded masked language model as shipped: its graph and weights, its vocabulary, and what describes them.

    model.onnx       graph, and weights in half precision under their names in transformers
    vocab.txt        16,000 word pieces, one a line
    config.json      sizes, hashes, and where each weight lies in model.onnx
    huggingface.py   the same weights as a Hugging Face folder, for other tools

The files come from ``training/``; ``docs/model-card.md`` says what is in them. ``perturbators/embedded.py`` runs them.

In: nothing. Out: files, as they are here or as a folder for other tools. May import: no other room.
"""
