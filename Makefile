# Everything runs in .venv at the root of the checkout, made on first use.
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-all check browser bench yardsticks reliability audit lock clean

demo: .venv/demo.installed
	$(BIN)/anchorscope demo

test: check browser
	$(BIN)/python -m pytest -q -n 2

# What needs packages that are too heavy for everyday, and the core on every Python that is promised: environments of their
# own in .venv-all, made on first use (gigabytes); the log is docs/data/test-all.log. PYTHONS are interpreters by path.
PYTHONS ?= $(wildcard $(HOME)/.pyenv/versions/3.1[0-3].*/bin/python)
test-all:
	tests/heavy/all.sh $(PYTHONS)

# The pages are tested in a real browser: Debian's chromium, and fonts for scripts that the tests show.
browser:
	@{ command -v chromium && fc-list :lang=zh | grep .; } >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq chromium fontconfig fonts-noto-core fonts-noto-cjk; } >/dev/null 2>&1 \
	  || { echo "The browser tests need chromium and fonts: apt-get install chromium fontconfig fonts-noto-core fonts-noto-cjk"; exit 1; }

# The tables of docs/performance.md and docs/scale.md: an hour on one core, and gigabytes in .cache for the tools that we
# compare with. DATA=FOLDER adds the tasks that come as files (benchmarks/tasks.py says which); without it there are the film
# reviews. CORPUS=FOLDER adds the tables of scale, from a folder of plain texts (benchmarks/scale.py).
DATA ?=
TWO := $(if $(DATA),--data $(DATA) --tasks rotten-tomatoes corona,--tasks rotten-tomatoes)
bench: export OMP_NUM_THREADS := 1
bench: .venv/test.installed
	$(BIN)/python -m benchmarks.default_cost $(TWO)
	$(if $(DATA),$(BIN)/python -m benchmarks.own_time --data $(DATA))
	$(if $(DATA),$(BIN)/python -m benchmarks.many_labels --data $(DATA))
	$(BIN)/python -m benchmarks.peers $(TWO) --few-documents 8
	$(if $(CORPUS),$(BIN)/python -m benchmarks.scale --data $(CORPUS))

# docs/yardsticks.md: rows that are missing are made, then the page. Hours on one core; it may be stopped, and goes on.
# ENCODERS=FOLDER (python -m benchmarks.classifiers) adds the encoders.
ENCODERS ?=
REAL := $(if $(DATA),--data $(DATA),--tasks rotten-tomatoes demo)
yardsticks: export OMP_NUM_THREADS := 1
yardsticks: .venv/test.installed
	$(BIN)/python -m benchmarks.planting $(REAL)
	$(if $(ENCODERS),$(BIN)/python -m benchmarks.yardsticks $(REAL) --models small large --encoders $(ENCODERS))
	$(BIN)/python -m benchmarks.yardsticks $(REAL) --models linear rule planted --roar

# The table of docs/reliability.md: some hours on two cores; the full disk needs root, as a file system is mounted.
STUDIES := kills signals same faults bad_answers bad_inputs poison fuzz hostile_folders writers full_disk memory \
  model_files servers live_page printed lost_workers soak
reliability: .venv/reliability.installed
	for study in $(STUDIES); do $(BIN)/python -m reliability.$$study || exit 1; done
	$(BIN)/python -m reliability.page

check: .venv/test.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.venv/%.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt -e '.[$*]'
	touch $@

# What the tests run on is locked by hashes, for the Python that the lock was made for; others get what pyproject.toml allows.
LOCK := requirements/test.lock
LOCKED_FOR := 3.11
.venv/test.installed: pyproject.toml constraints.txt $(LOCK)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	if $(BIN)/python --version | grep -q ' $(LOCKED_FOR)[.]'; \
	  then $(BIN)/pip install -q --require-hashes --no-deps -r $(LOCK); \
	  else echo "$(LOCK) is for Python $(LOCKED_FOR) and is not used."; fi
	$(BIN)/pip install -q -c constraints.txt -e '.[test]'
	touch $@

# torch comes in several builds, each with hashes and packages of its own, so neither it nor what a build for CUDA brings is
# locked: constraints.txt has its version.
CUDA := bindings pathfinder toolkit
NVIDIA := cublas cuda-cupti cuda-nvrtc cuda-runtime cudnn-cu13 cufft cufile curand cusolver cusparse cusparselt-cu13 \
  nccl-cu13 nvjitlink nvshmem-cu13 nvtx
NOT_LOCKED := torch triton setuptools $(CUDA:%=cuda-%) $(NVIDIA:%=nvidia-%)
TOOLS := .venv-tools/bin
lock: $(TOOLS)/uv
	$(TOOLS)/uv pip compile -q pyproject.toml --extra test -c constraints.txt --python-version $(LOCKED_FOR) --upgrade \
	  --generate-hashes --no-header --no-annotate --no-emit-index-url $(NOT_LOCKED:%=--no-emit-package %) > $(TOOLS)/../test.lock
	{ grep '^#' $(LOCK); cat $(TOOLS)/../test.lock; } > $(TOOLS)/../whole.lock && mv $(TOOLS)/../whole.lock $(LOCK)

# Every version that the tests run on, and every floor of pyproject.toml, against the advisories; needs the
# network, or ADVISORIES=FOLDER: a clone of pypa/advisory-database.
audit: $(TOOLS)/pip-audit $(TOOLS)/uv
	$(TOOLS)/uv pip compile -q pyproject.toml --extra test --resolution lowest-direct --python-version $(LOCKED_FOR) \
	  --no-header --no-annotate --no-emit-index-url -o .venv-tools/floors.txt
ifdef ADVISORIES
	$(TOOLS)/pip install -q packaging pyyaml
	$(TOOLS)/python -m reliability.advisories $(ADVISORIES) $(LOCK) .venv-tools/floors.txt
else
	$(TOOLS)/pip-audit --strict --disable-pip --require-hashes -r $(LOCK)
	$(TOOLS)/pip-audit --strict --disable-pip --no-deps -r .venv-tools/floors.txt
endif

$(TOOLS)/%:
	test -x $(TOOLS)/python || $(PYTHON) -m venv .venv-tools
	$(TOOLS)/pip install -q $*

clean:
	rm -rf .venv .venv-all .venv-tools build *.egg-info
