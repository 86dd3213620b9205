"""Models behind HTTP: an address and a form become a function from texts to rows, asked by a FunctionPredictor.

    forms.py      what is sent and what comes back, for each kind of server; chat.py has that of language models
    template.py   a form of one's own: a request with a hole for the texts, and a path into the answer
    traffic.py    many requests in flight, in one order of results; 429, timeouts, connections
    connection.py one connection
    refusals.py   what a server says instead of an answer, as a sentence
    model.py      the function itself, and ``from_url``

The key is read from the environment when a connection is made. It is kept in no attribute, so it is in no journal,
pickle, fingerprint, log or error. May import: what predictors may.
"""
