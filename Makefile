# `make book` and `make test` are the two commands; both work from a fresh clone, and again.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/ready
PAGE := _build/html/index.html

# Outputs are compared word for word, so no library may draw progress bars or warn in passing.
export HF_HUB_DISABLE_PROGRESS_BARS := 1
export TRANSFORMERS_VERBOSITY := error
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# On two busy cores, waiting threads should sleep: by default they spin, and everything takes longer.
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: help book test lab seeds clean

help:  ## list what can be made
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' Makefile

$(READY): requirements.txt requirements.lock pyproject.toml
	@echo "== Python environment in $(VENV): 2 GB, about 3 minutes the first time"
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.11 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install -r requirements.txt -c requirements.lock
	$(RUN) -m pip install --no-deps --no-build-isolation -e .
	@touch $@

book: $(READY)  ## install, fetch the model, ask it three questions, build the pages
	@echo "== weights of the default model (491 MB, once)"
	$(RUN) -m skillrag_lite weights pocket
	@echo "== three questions, live, picked to show three paths"
	$(RUN) -m skillrag_lite ask --demo
	@echo "== pages, strictly: a warning is an error (some seconds)"
	$(VENV)/bin/jupyter-book build . -W -n --keep-going --all
	@echo "== done: open $(CURDIR)/$(PAGE) in a browser"

test: $(READY)  ## unit tests, every notebook cell against its committed output, the book
	@echo "== weights of the small test model (98 MB, once)"
	$(RUN) -m skillrag_lite weights tiny
	@echo "== tests"
	$(RUN) -m pytest --nbval --nbval-current-env --nbval-cell-timeout 120 tests notebooks

lab: $(READY)  ## open the chapters in JupyterLab
	$(VENV)/bin/jupyter lab notebooks

seeds: $(READY)  ## rerun what is random under three seeds: probe, dev's halves, t-SNE (5 minutes)
	for chapter in 02_probe_training 03_gating 07_failure_space; do \
		for seed in 0 1 2; do \
			$(RUN) -m tools.rerun $$chapter --set SEED=$$seed || exit 1; \
		done; \
	done

clean:  ## remove the pages and the environment (weights stay in their cache)
	rm -rf _build $(VENV)
