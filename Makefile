# Two commands: `make book` builds the site, `make test` checks it. `make help` lists the rest.
PYTHON ?= python3
TORCH_INDEX ?=
PROFILE ?= book
K ?=
WORKERS ?= logical
URL ?=
RTX_DOWNLOAD ?= 1
STRICT ?=
JOBS ?= 2
GPU_PYTHON ?=
GPU_DEVICE ?= cuda
GPU_OUT ?= _build/gpu
export RTX_DOWNLOAD STRICT
# Whatever the locale. (A comment behind the value would leave a blank in it.)
export PYTHONUTF8 := 1

# The data that the chapters use where they find it; `make data TRY=` fails where one file cannot be had.
TRY := --try
DATA := mnist ptb music shakespeare sst2 subj trec wikitext2 masc ud_ewt conll2000 senseval gpt_bpe ett
PY := .venv/bin/python
BUILD := $(PY) -m rtx_book.build
PYTEST = RTX_DOWNLOAD=0 OMP_NUM_THREADS=1 $(PY) -m pytest -n "$(WORKERS)" --maxprocesses 4
# It takes another Python only where nobody named one.
ENVIRONMENT = $(if $(filter-out file,$(origin PYTHON)),PYTHON="$(PYTHON)") TORCH_INDEX="$(TORCH_INDEX)" \
	sh book/rtx_book/build/environment.sh
# What a developer waits for: contracts, parity with the reference arrays, statements and claims, every notebook's form.
CHECKED := $(addprefix tests/,lib reference support book/test_press.py book/test_style.py book/records book/claims book/race book/checks \
	book/build/test_fingerprint.py book/notebooks/test_structure.py book/notebooks/test_displayed.py)
# $(call phase,title,command): run the command, then say how long it took; stop when it fails.
phase = @start=$$(date +%s); echo "== $(1)"; $(2) || exit 1; echo "   $(1): $$(( $$(date +%s) - start )) s"

.DEFAULT_GOAL := help
.PHONY: help data replicate live book notebooks edition figures check test weekly gpu gpu-merge lint serve clean set-repo publish-check setup setup-tests

help:
	@echo 'make book             set up .venv, fetch data, run the notebooks, build the site, print where it is'
	@echo 'make check            3 minutes: lint, types, contracts, parity, statements, the form of every notebook'
	@echo 'make test             14 minutes: that, every notebook in smoke, the site and every page in a browser'
	@echo 'make weekly           40 minutes: Firefox, dark and phone looks, a pretended GPU, Colab, long runs'
	@echo '                      (K=word: only the tests that match)'
	@echo 'make gpu              8 minutes on a machine with a GPU: its tests, every chapter, the speed of the kernels'
	@echo '                      (GPU_PYTHON=python3 installs nothing; make gpu-merge takes the speeds over)'
	@echo 'make notebooks        run the notebooks that changed, without building the site'
	@echo 'make edition          the notebooks with what they showed, small, for GitHub: _build/edition'
	@echo 'make figures          every figure of the chapters as SVG and PDF with its alt text: _build/edition/figures'
	@echo 'make data             fetch the data files that the cache lacks; what fails is left to embedded data'
	@echo 'make replicate        run what the replication study lacks (hours; JOBS=2 at a time; goes on when killed)'
	@echo 'make live             measure the trainer of the pages in Chromium anew (twenty minutes; goes on when killed)'
	@echo 'make lint             ruff, mypy, codespell and eslint only'
	@echo 'make serve            show the built site at http://127.0.0.1:8000'
	@echo 'make set-repo URL=... write the address of your repository into the book'
	@echo 'make publish-check    fail unless the book knows its repository and its author'
	@echo 'make clean            remove what was built (.venv and downloaded data stay)'
	@echo
	@echo 'Variables: PYTHON=python3.11 (makes .venv)  PROFILE=smoke|book|paper  RTX_DATA=folder of the data files'
	@echo '           RTX_DOWNLOAD=0 (no downloads of data)  STRICT=1 (fail where a finding falls otherwise)'
	@echo '           WORKERS=1 (tests on one core)  TORCH_INDEX=https://download.pytorch.org/whl/cpu'

setup:
	@$(ENVIRONMENT)

setup-tests:
	@$(ENVIRONMENT) --tests

data: setup
	@$(PY) -m rtx_lib.tasks.download $(TRY) $(DATA)

book: setup data
	@$(BUILD) book --profile "$(PROFILE)"

replicate: setup-tests data
	@$(PY) -m rtx_book.build.replicate --jobs $(JOBS)

live: setup-tests
	@PYTHONPATH=tests:tests/book nice -n 19 $(PY) tests/book/live/bars.py

notebooks: setup data
	@$(BUILD) execute --profile "$(PROFILE)"

# The sources with small outputs, which GitHub shows, and the figures as files; no other edition holds any.
edition: notebooks
	@$(PY) -m rtx_book.build.node book/rtx_book/build/edition.js _build/executed notebooks _build/edition

figures: setup-tests edition
	@$(PY) tests/support/browser.py
	@$(PY) -m rtx_book.build.figures _build/edition/figures

lint: setup-tests
	$(call phase,ruff (notebooks too),$(PY) -m ruff check --quiet .)
	$(call phase,ruff format,$(PY) -m ruff format --quiet --check .)
	$(call phase,mypy,$(PY) -m mypy)
	$(call phase,codespell,$(PY) -m codespell_lib)
	$(call phase,eslint,$(PY) -m rtx_book.build.scripts)

check: lint
	@echo "== pytest"; $(PYTEST) -m "not weekly and not slow" $(if $(K),-k "$(K)") $(CHECKED)

test: lint
	@$(PY) tests/support/browser.py
	@echo "== pytest"; $(PYTEST) $(if $(K),-k "$(K)")

weekly: setup-tests
	@$(PY) tests/support/browser.py
	@$(PY) tests/support/browser.py firefox
	@echo "== pytest"; $(PYTEST) -m weekly $(if $(K),-k "$(K)")

serve:
	@$(PYTHON) book/rtx_book/build/serving.py

set-repo:
	@$(PYTHON) book/rtx_book/build/repository.py set "$(URL)"

publish-check:
	@$(PYTHON) book/rtx_book/build/repository.py check

# The GPU's machine has its own Python, and nothing is installed there; without GPU_PYTHON it is that of .venv.
gpu: $(if $(GPU_PYTHON),,setup-tests)
	@$(or $(GPU_PYTHON),$(PY)) book/rtx_book/build/gpu.py run --device "$(GPU_DEVICE)" --out "$(GPU_OUT)"

gpu-merge:
	@$(or $(GPU_PYTHON),$(PYTHON)) book/rtx_book/build/gpu.py merge --out "$(GPU_OUT)"

clean:
	rm -rf _build .pytest_cache .ruff_cache .mypy_cache
	find . -name __pycache__ -type d -not -path './.venv*' -prune -exec rm -rf {} +
