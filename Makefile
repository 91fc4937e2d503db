# Everything here works in .venv, which the first target makes, the others reuse, and a
# changed lock renews. GNU make 3.81 (macOS) is enough.
SHELL := bash
.DEFAULT_GOAL := help

VENV := .venv
PY := $(VENV)/bin/python
PYTHON ?= python3 python3.13 python3.12 python3.11 python3.14
PORT ?= 8888
NB ?=
OUT ?= site
# Two workers with one thread each: faster on two cores than threads that fight for them,
# and every printed digit is the same however many cores there are.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
# In the order of the files: the browser tests, few and long, come first, so that neither waits at the end.
PYTEST := $(ONE_THREAD) $(PY) -m pytest -n 2 --dist loadfile --no-loadscope-reorder
NBVAL := -p tools.nbval_report --nbval --nbval-current-env --nbval-cell-timeout=90
# TORCH=cpu takes PyTorch's build without CUDA, which is smaller by gigabytes on Linux;
# WHEELHOUSE=wheelhouse takes all packages from the folder that `make wheelhouse` made.
export TORCH WHEELHOUSE

.PHONY: help lab test test-notebooks lint notebooks mine bench claims site links wheelhouse lock audit mutants steady fuzz oldest load hosts clean setup

help:  ## This list
	@echo "make lab             open your copies of the notebooks in JupyterLab (PORT=8890 for another port)"
	@echo "make mine            copy the notebooks to notebooks/mine, where you may write freely"
	@echo "make test            every check: lint, library, notebooks, pictures in a browser"
	@echo "make test-notebooks  only run the notebooks and compare what they show"
	@echo "make lint            ruff on code and notebooks, mypy on mha_lib"
	@echo "make notebooks       run and clean all notebooks in place (NB=notebooks/03_....ipynb for one)"
	@echo "make site            the whole collection as a website that needs no network (OUT=site)"
	@echo "make links           write the launch links that pyproject.toml asks for"
	@echo "make wheelhouse      fetch all packages, into wheelhouse/, for a room without network"
	@echo "make audit           ask whether a locked package has a known weakness"
	@echo "make bench           the measurements"
	@echo "make claims          what notebooks 08 to 11 say of their experiments, with more seeds; some minutes"
	@echo "make mutants         break a copy of the library on purpose and see which checks notice"
	@echo "make steady          run what rests on time or training fifty times beside busy processes"
	@echo "make fuzz            ten thousand inputs, right and wrong, for every public function"
	@echo "make oldest          the tests with the oldest versions that pyproject.toml allows, in an environment of its own"
	@echo "make load            ten kernels at once, a full disk, a killed kernel: nothing wrong, nothing lost"
	@echo "make hosts           Colab's kernel, Notebook 7, Voila and marimo with every widget; fetches them"
	@echo "make lock            renew tools/locks/*.lock from pyproject.toml"
	@echo "make clean           remove .venv and caches"
	@echo "The first of these sets up .venv; it needs Python 3.11 or newer and the network."
	@echo "On Linux without a GPU, TORCH=cpu with the first one saves gigabytes."

setup: $(VENV)/ready  ## Make or renew .venv, and nothing else

lab: $(VENV)/ready
	@exec $(PY) tools/lab.py $(PORT)

test: lint
	$(PYTEST) $(NBVAL) tests notebooks

test-notebooks: $(VENV)/test-ready
	$(PYTEST) $(NBVAL) notebooks tests/gallery

lint: $(VENV)/test-ready
	$(PY) -m ruff check mha_lib tests tools notebooks
	$(PY) -m ruff format --check mha_lib tests tools
	$(PY) -m mypy
	$(PY) tools/check_scripts.py
	@$(PY) tools/size.py

notebooks: $(VENV)/ready
	@$(ONE_THREAD) $(PY) tools/refresh.py $(NB)

mine: $(VENV)/ready
	@$(PY) tools/mine.py

site: $(VENV)/site-ready
	@PYTHONPATH=tools $(PY) -m website $(OUT)

claims: $(VENV)/test-ready
	@$(ONE_THREAD) $(PY) -m pytest -q -s tests/claims/claims_*.py

bench: $(VENV)/bench-ready
	@for file in tests/bench/bench_*.py; do echo "== $$file"; $(PY) $$file || exit 1; done

mutants: $(VENV)/test-ready
	@$(ONE_THREAD) $(PY) tools/mutants.py $(MUTANTS)

steady: $(VENV)/test-ready
	@$(ONE_THREAD) $(PY) tools/steady.py $(STEADY)

fuzz: $(VENV)/test-ready
	FUZZ=10000 $(ONE_THREAD) $(PY) -m pytest -n 2 tests/test_fuzz.py

oldest: $(VENV)/ready
	@$(PY) tools/oldest.py

load: $(VENV)/test-ready
	@$(ONE_THREAD) $(PY) tools/load.py

hosts: $(VENV)/test-ready
	$(ONE_THREAD) $(PY) -m pytest -m ci tests/hosts

lock: $(VENV)/ready
	@$(PY) -m pip install -q uv && $(PY) tools/lock.py

wheelhouse: $(VENV)/ready
	@$(PY) tools/install.py wheelhouse

links: $(VENV)/ready
	@$(PY) tools/links.py

audit: $(VENV)/ready
	@$(PY) -m pip install -q pip-audit
	$(PY) -m pip_audit --strict --disable-pip --no-deps $(addprefix -r ,$(wildcard tools/locks/*.lock))

clean:
	rm -rf $(VENV) .pytest_cache .hypothesis .ruff_cache .mypy_cache
	find mha_lib tests notebooks -name __pycache__ -prune -exec rm -rf {} +

# --- .venv, in layers: reading, then mha_lib, then the tools for the site and for the tests -------

PYTHON_FOUND = found=; for python in $(PYTHON); do \
	   "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { found=$$python; break; }; \
	 done; \
	 version=$$($(firstword $(PYTHON)) --version 2>/dev/null); \
	 [ -n "$$found" ] || { echo "Python 3.11 or newer is needed, and '$(firstword $(PYTHON))' is $${version:-not there}." \
	   "Install a newer one from python.org, or name yours: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 1; }

$(VENV)/installed: tools/locks/lab.lock
	@$(PYTHON_FOUND); "$$found" tools/install.py base
	@touch $@

$(VENV)/ready: $(VENV)/installed pyproject.toml
	@$(PY) tools/install.py library
	@touch $@

$(VENV)/site-ready: $(VENV)/ready tools/locks/site.lock
	@$(PY) tools/install.py site
	@touch $@

$(VENV)/test-ready: $(VENV)/site-ready tools/locks/test.lock
	@$(PY) tools/install.py test
	@touch $@

# What the measurements compare with is not needed to learn, so only `make bench` installs it.
$(VENV)/bench-ready: $(VENV)/test-ready
	@$(PY) -m pip install --disable-pip-version-check -e '.[bench]' >> $(VENV)/install.log 2>&1 \
	  || { echo "The tools to compare with could not be installed: see $(VENV)/install.log" >&2; exit 1; }
	@touch $@
