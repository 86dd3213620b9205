"""``python -m anchorscope``: the command line."""

from anchorscope.cli.__main__ import run

if __name__ == "__main__":
    run()
