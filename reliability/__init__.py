"""Does it survive? One script a question; each prints a table and writes docs/data/reliability_*.json.

    make reliability                    # all of them in full: about two hours on two cores
    python -m reliability.kills         # one of them
    python -m reliability.kills --quick # the small form, which the tests run too

Real parts throughout: the command line in processes of its own, the demo's film reviews, a scikit-learn classifier.
"""

import os

os.environ.setdefault("ANCHORSCOPE_CACHE", "off")  # what is measured is asked, not found
