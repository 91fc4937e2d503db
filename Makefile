# Everything here works in .venv, which the first target makes, the others reuse, and a
# changed requirements.lock renews. GNU make 3.81 (macOS) is enough.
SHELL := bash
.DEFAULT_GOAL := help

VENV := .venv
PY := $(VENV)/bin/python
PYTHON ?= python3 python3.13 python3.12 python3.11 python3.14
PORT ?= 8888
NB ?=
OUT ?= site
START := notebooks/00_start_here.ipynb
# Two workers with one thread each: faster on two cores than threads that fight for them,
# and every printed digit is the same however many cores there are.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
# In the order of the files: the browser tests, few and long, come first, so that neither waits at the end.
PYTEST := $(ONE_THREAD) $(PY) -m pytest -n 2 --dist loadfile --no-loadscope-reorder
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout=90
# TORCH=cpu takes PyTorch's build without CUDA, which is smaller by gigabytes on Linux.
ifeq ($(TORCH),cpu)
PIP_EXTRA := --extra-index-url https://download.pytorch.org/whl/cpu
endif

.PHONY: help lab test test-notebooks lint notebooks mine bench site lock clean setup

help:  ## This list
	@echo "make lab             open the notebooks in JupyterLab (PORT=8890 for another port)"
	@echo "make mine            copy the notebooks to notebooks/mine, where you may write freely"
	@echo "make test            every check: lint, library, notebooks, pictures in a browser"
	@echo "make test-notebooks  only run the notebooks and compare what they show"
	@echo "make lint            ruff on code and notebooks, mypy on mha_lib"
	@echo "make notebooks       run and clean all notebooks in place (NB=notebooks/03_....ipynb for one)"
	@echo "make site            the moving pictures as pages that work offline (OUT=site)"
	@echo "make bench           the measurements"
	@echo "make lock            renew requirements.lock from pyproject.toml"
	@echo "make clean           remove .venv and caches"
	@echo "The first of these sets up .venv; it needs Python 3.11 or newer and the network."
	@echo "On Linux without a GPU, TORCH=cpu with the first one saves gigabytes."

setup: $(VENV)/ready  ## Make or renew .venv, and nothing else

lab: $(VENV)/ready
	@$(PY) -c 'import socket; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", int("$(PORT)")))' 2>/dev/null \
	  || { echo "Port $(PORT) is taken or not yours to open. Choose another one:" \
	       "make lab PORT=$$($(PY) -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')" >&2; exit 1; }
	@options="--ip=127.0.0.1 --port=$(PORT) --ServerApp.port_retries=0 --log-level=WARN"; \
	 [ "$$(id -u)" != 0 ] || options="$$options --allow-root"; \
	 if ! $(PY) -c 'import webbrowser; webbrowser.get()' 2>/dev/null \
	    || { [ "$$(uname)" = Linux ] && [ -z "$$DISPLAY$$WAYLAND_DISPLAY$$BROWSER" ]; }; then \
	   options="$$options --no-browser"; \
	   echo "No browser at hand: open the address below in one. Ctrl-C twice stops."; \
	 else \
	   echo "Your browser opens $(START). Ctrl-C twice stops."; \
	 fi; \
	 exec $(PY) -m jupyterlab $$options --ServerApp.root_dir="$(CURDIR)" --LabApp.default_url=/lab/tree/$(START)

test: lint
	$(PYTEST) $(NBVAL) tests notebooks

test-notebooks: $(VENV)/ready
	$(PYTEST) $(NBVAL) notebooks

lint: $(VENV)/ready
	$(PY) -m ruff check mha_lib tests tools notebooks
	$(PY) -m ruff format --check mha_lib tests tools
	$(PY) -m mypy

notebooks: $(VENV)/ready
	@$(ONE_THREAD) $(PY) tools/refresh.py $(NB)

mine: $(VENV)/ready
	@$(PY) tools/mine.py

site: $(VENV)/ready
	@$(PY) tools/pages.py $(OUT)

bench: $(VENV)/bench-ready
	@for file in tests/bench/bench_*.py; do echo "== $$file"; $(PY) $$file || exit 1; done

lock: $(VENV)/ready
	@$(PY) -m pip install -q uv
	@echo 'torch==2.13.0' > $(VENV)/pins && echo 'python-dateutil<3' >> $(VENV)/pins
	@$(PY) -m uv pip compile -q pyproject.toml --extra lab --extra model --extra test --universal --upgrade \
	  --python-version 3.11 --no-header --no-annotate -c $(VENV)/pins -o $(VENV)/compiled.txt
	@{ grep '^#' requirements.lock; grep -vE '^(cuda-|nvidia-|triton)' $(VENV)/compiled.txt; } > $(VENV)/new.lock
	@mv $(VENV)/new.lock requirements.lock

clean:
	rm -rf $(VENV) .pytest_cache .hypothesis .ruff_cache .mypy_cache
	find mha_lib tests notebooks -name __pycache__ -prune -exec rm -rf {} +

# --- .venv ---------------------------------------------------------------------------------

$(VENV)/installed: requirements.lock
	@found=; for python in $(PYTHON); do \
	   "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { found=$$python; break; }; \
	 done; \
	 version=$$($(firstword $(PYTHON)) --version 2>/dev/null); \
	 [ -n "$$found" ] || { echo "Python 3.11 or newer is needed, and '$(firstword $(PYTHON))' is $${version:-not there}." \
	   "Install a newer one from python.org, or name yours: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 1; }; \
	 echo "Setting up $(VENV) with $$("$$found" --version); this happens once and takes some minutes ..."; \
	 said=$$("$$found" -m venv --clear $(VENV) 2>&1) || { echo "Could not make $(VENV)." \
	   "On Debian and Ubuntu first: sudo apt install python3-venv. Python said: $$(echo $$said)" >&2; exit 1; }
	@$(PY) -m pip install --disable-pip-version-check --no-compile $(PIP_EXTRA) -r requirements.lock > $(VENV)/install.log 2>&1 \
	  || { echo "The install failed: $$(grep -i error $(VENV)/install.log | tail -n 1)" \
	       "Check the network and the free disk space, then run make again; all of it is in $(VENV)/install.log" >&2; exit 1; }
	@# Compiled once, on all cores: a kernel then imports torch in half the time, here and in a read-only home.
	@$(PY) -m compileall -q -j 0 $(VENV)/lib >> $(VENV)/install.log 2>&1 || true
	@touch $@

$(VENV)/ready: $(VENV)/installed pyproject.toml
	@$(PY) -m pip install --disable-pip-version-check --no-deps -e . >> $(VENV)/install.log 2>&1 \
	  || { echo "mha_lib could not be installed: $$(grep -i error $(VENV)/install.log | tail -n 1)" \
	       "Check the network, then run make again; all of it is in $(VENV)/install.log" >&2; exit 1; }
	@touch $@

# What the measurements compare with is not needed to learn, so only `make bench` installs it.
$(VENV)/bench-ready: $(VENV)/ready
	@$(PY) -m pip install --disable-pip-version-check -c requirements.lock -e '.[bench]' >> $(VENV)/install.log 2>&1 \
	  || { echo "The tools to compare with could not be installed: see $(VENV)/install.log" >&2; exit 1; }
	@touch $@
