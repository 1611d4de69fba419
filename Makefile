PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo scale-demo test suite torture pythons browser check format docs bench clean

# Bytecode is kept though a machine may say otherwise: the demo starts two dozen processes, the tests hundreds.
demo: $(VENV)/$(if $(SERVE),.served,.installed)  ## the story of one fact; with SERVE=1 then in your browser
	@PYTHONDONTWRITEBYTECODE= $(BIN)/carrel demo $(if $(SERVE),--serve)

scale-demo: $(VENV)/.checked  ## PostgreSQL, S3 and two servers, and one agent used through both
	@$(BIN)/python bench/scale_demo.py

test:  ## everything CI runs
	@$(MAKE) --no-print-directory --jobs 2 check suite

suite: $(VENV)/.checked browser
	@TMPDIR=$$(.ci/scratch) PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal -q

MINUTES ?= 30
torture: $(VENV)/.checked  ## every promise tried for MINUTES, and the table of docs/reliability.md
	@.ci/disks
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.torture --minutes $(MINUTES) --write docs/reliability.md

pythons:  ## a fast part of the tests on every supported Python that is here
	@.ci/pythons

browser:  ## the Chromium in which the explorer is tested, where it can be installed
	@.ci/browser

check: $(VENV)/.checked
	@$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet .
	@$(BIN)/pyright
	@$(BIN)/lint-imports --no-cache

format: $(VENV)/.checked
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

docs: $(VENV)/.documented  ## the reference made anew from the code, then the site in .site
	@$(BIN)/python docs/generate.py
	@$(BIN)/python -m mkdocs build --quiet

bench: $(VENV)/.benched  ## the figures of bench/; those of PostgreSQL and of peers have commands of their own
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/assemble.py
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/tree.py
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/sessions.py
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/turns.py
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/search.py
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/headings.py
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/memory.py
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/dreams.py
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/screen.py
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/server.py
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/mcp_calls.py
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/ui.py
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/adapters.py

$(VENV)/.installed: pyproject.toml constraints.txt
	@echo "Making $(VENV) and installing Carrel into it; this is done once."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --editable .
	@touch $@

$(VENV)/.served: $(VENV)/.installed
	@$(PIP) --editable '.[server]'
	@touch $@

$(VENV)/.checked: $(VENV)/.installed
	@$(PIP) --editable '.[test,check]'
	@touch $@

$(VENV)/.documented: $(VENV)/.installed
	@$(PIP) --editable '.[docs]'
	@touch $@

$(VENV)/.benched: $(VENV)/.installed
	@$(PIP) --editable '.[bench,test]'
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .site
