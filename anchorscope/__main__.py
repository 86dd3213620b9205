"""``python -m anchorscope``: the command line."""

from anchorscope.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
