# Everything runs in .venv at the root of the checkout, made on first use.
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test check clean

demo: .venv/demo.installed
	$(BIN)/anchorscope demo

test: check
	$(BIN)/python -m pytest -q -n 2

check: .venv/test.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.venv/%.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt -e '.[$*]'
	touch $@

clean:
	rm -rf .venv build *.egg-info
