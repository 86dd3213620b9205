"""``python -m anchorscope.cli`` is the command ``anchorscope``."""

import sys

from anchorscope.cli import main

if __name__ == "__main__":
    sys.exit(main())
