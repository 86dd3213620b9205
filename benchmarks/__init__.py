"""One script a question; each prints a table and writes a JSON and a CSV."""

import os

os.environ.setdefault("ANCHORSCOPE_CACHE", "off")  # what is measured is asked, not found
