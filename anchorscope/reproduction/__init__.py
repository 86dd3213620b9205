"""The experiments of the paper, one command."""
