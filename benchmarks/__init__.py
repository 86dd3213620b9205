"""One script a question; each prints a table and writes a JSON and a CSV."""
