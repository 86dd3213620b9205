"""Where units of work are judged; every backend honours ``anchorscope.types.Backend``."""
