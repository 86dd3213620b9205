"""How the embedded masked language model is made; not installed with the package."""
