#!/bin/sh
# Runs, each in an environment of its own under .venv-all:
#   heavy           the recipes of docs/recipes.md: spaCy, fastText, SetFit, Keras, torch
#   transformers-4  Hugging Face folders with the last version 4 of transformers
#   one a Python    the core, on each interpreter that is named on the command line
# A part that fails does not stop the others; the log, which ends with what passed, is docs/data/test-all.log.
cd "$(dirname "$0")/../.." || exit 1
log=docs/data/test-all.log
export PIP_DISABLE_PIP_VERSION_CHECK=1 OMP_NUM_THREADS=1
NEEDED="pytest pytest-xdist hypothesis jsonschema"
CORE="tests/text tests/sampling tests/scoring tests/planning tests/asking tests/journal tests/local_scores tests/backends
  tests/test_run.py tests/test_explainer.py tests/test_onnx.py tests/test_result.py
  --ignore tests/backends/test_ray_actors.py --ignore tests/local_scores/test_gradients.py --ignore tests/local_scores/test_family.py
  --deselect tests/planning/test_draw.py::test_on_ray_it_is_the_same
  --deselect tests/planning/test_draw.py::test_a_file_that_workers_cannot_see_is_said"
# (Neither Ray nor torch nor the libraries of other scores are there.) From 3.13 on Python tells of connections that tests leave to be closed by themselves.
QUIET="-W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning"

# environment NAME PYTHON PACKAGES...: made on first use, and again where what it holds has changed.
environment() {
  name=$1
  python=$2
  shift 2
  if [ "$(cat ".venv-all/$name/packages" 2>/dev/null)" != "$*" ]; then
    test -x ".venv-all/$name/bin/python" || "$python" -m venv ".venv-all/$name" || return 1
    ".venv-all/$name/bin/python" -m pip install -q -c constraints.txt "$@" 2>&1 | grep -v "^WARNING" >&2
    ".venv-all/$name/bin/python" -c "import anchorscope, pytest" || return 1
    echo "$*" > ".venv-all/$name/packages"
  fi
}

# part NAME PYTESTS...: the tests in the environment of that name.
part() {
  name=$1
  shift
  echo
  echo "== $name: $(".venv-all/$name/bin/python" --version)"
  ".venv-all/$name/bin/python" -m pip list 2>/dev/null |
    grep -iE "^(spacy|fasttext|setfit|keras|torch|transformers|tokenizers|scikit-learn|numpy|onnxruntime) " || true
  ".venv-all/$name/bin/python" -m pytest -q -n 2 -p no:cacheprovider $QUIET "$@" 2>&1 | tail -n 25
}

everything() {
  echo "make test-all, $(date -u +%Y-%m-%d), commit $(git rev-parse --short HEAD)"
  first=$1
  environment heavy "$first" $NEEDED -e ".[scikit,huggingface,http,onnx]" spacy setfit keras fasttext-numpy2-wheel &&
    part heavy tests/heavy -n 0
  environment transformers-4 "$first" $NEEDED -e ".[scikit,http,onnx]" torch "transformers<5" &&
    part transformers-4 tests/test_architectures.py
  for python in "$@"; do
    number=$("$python" -c "import sys; print('python-%d.%d' % sys.version_info[:2])")
    environment "$number" "$python" $NEEDED -e ".[scikit,http,onnx,pandas,parquet,zstd,cjk]" onnx scipy datasets &&
      part "$number" $CORE
  done
}

if [ $# -eq 0 ]; then
  echo "Name the interpreters: make test-all PYTHONS='/usr/bin/python3.11 …'" >&2
  exit 2
fi
asked=$(($# + 2))

# What passed, at the end of the log, be it of a run that was interrupted.
sum_up() {
  passed=$(grep -cE "^[0-9]+ passed(, [0-9]+ (skipped|deselected|warnings?))* in " "$log")
  echo >> "$log"
  echo "$passed parts passed; $asked were asked for." >> "$log"
  tail -n 1 "$log"
}

trap 'sum_up; exit 1' INT TERM
everything "$@" > "$log" 2>&1
sum_up
test "$passed" -eq "$asked"
