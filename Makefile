PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo scale-demo test suite torture browser check format docs bench clean

demo: $(VENV)/$(if $(SERVE),.served,.installed)  ## a sample workspace; with SERVE=1 in your browser
	@$(BIN)/carrel demo $(if $(SERVE),--serve)

scale-demo: $(VENV)/.checked  ## PostgreSQL, S3 and two servers, and one agent used through both
	@$(BIN)/python bench/scale_demo.py

test:  ## everything CI runs
	@$(MAKE) --no-print-directory --jobs 2 check suite

# Bytecode is kept though a machine may say otherwise: hundreds of tests start a process.
suite: $(VENV)/.checked browser
	@PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal -q

MINUTES ?= 30
torture: $(VENV)/.checked  ## every promise tried for MINUTES, and the table of docs/reliability.md
	@.ci/disks
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.torture --minutes $(MINUTES) --write docs/reliability.md

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

bench: $(VENV)/.benched
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
	@$(PIP) --editable '.[agent,bench,embed,server]'
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .site
