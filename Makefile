# The commands of this repository. `make` lists them.
# Requirements: make, a C++20 compiler, CMake >= 3.24 and Python >= 3.11. All other files go into .venv and build/.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV   := .venv
BIN    := $(VENV)/bin
JOBS   ?= $(shell getconf _NPROCESSORS_ONLN)
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
# Warnings are errors in CI. They are not for users, whose compilers may have other warnings.
WERROR ?= $(if $(CI),ON,OFF)

# The first interpreter that runs, is new enough and can create a virtual environment. Each candidate is tried, because
# version managers leave shims for inactive versions, and some systems ship Python without ensurepip.
PYTHON ?= $(shell for p in python3 python python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)

# Uses a compiler cache if there is one. ccache caches precompiled headers only if it may ignore their dates.
ifneq ($(shell command -v ccache),)
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
export CCACHE_SLOPPINESS ?= pch_defines,time_macros,include_file_mtime,include_file_ctime
endif

CPP_SOURCES := $(shell find simcore -type f \( -name '*.cpp' -o -name '*.hpp' -o -name 'CMakeLists.txt' -o -path 'simcore/cmake/*' \) 2>/dev/null)
# The editable installation lists the packages by name, so a new package needs a new installation.
PACKAGES := $(shell find simcore env agents configs experiments -name __init__.py 2>/dev/null)
CPP_FORMATTED := $(filter %.cpp %.hpp,$(CPP_SOURCES)) $(wildcard docs/extending/examples/*.cpp docs/extending/example_plugin/src/*.cpp)

.PHONY: help venv dev wheel demo test test-deep lint types test-cpp test-sanitized one-definition test-docs test-python test-python-deep test-lowest coverage cluster-test fuzz bench bench-build bench-compare pictures docs reference leaderboard format constraints clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- Environment ---------------------------------------------------------------------------------------------------

$(VENV)/created:
	@test -n "$(PYTHON)" || { echo "make: no Python >= 3.11 with venv found; name one with PYTHON=..." >&2; exit 1; }
	@echo "== creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# The builds use these packages, because isolated builds would download them again. setuptools serves a dependency of
# Hydra that PyPI has only as a source package.
$(VENV)/build-tools: $(VENV)/created pyproject.toml constraints.txt
	@$(BIN)/python -m pip install --quiet -c constraints.txt pybind11 scikit-build-core setuptools
	@touch $@

# Editable, so changes of Python and YAML files need no build. build/ is kept, so a change of a C++ file recompiles only
# the files that depend on it.
INSTALL := $(BIN)/python -m pip install --quiet -c constraints.txt --no-build-isolation \
	--config-settings=cmake.define.FLITGYM_NATIVE=ON --config-settings=cmake.define.FLITGYM_WERROR=$(WERROR) \
	--config-settings=cmake.define.FLITGYM_TESTS=ON --editable
SOURCES := $(VENV)/build-tools pyproject.toml constraints.txt $(PACKAGES) \
	$(filter-out simcore/tests/% simcore/bench/%,$(CPP_SOURCES))

$(VENV)/installed: $(SOURCES)
	@echo "== building the simulator core for this machine, and installing the packages for the simulation"
	@$(INSTALL) .
	@touch $@

# The extras add packages to the installation. The core is not built again, so C++ tests can compile meanwhile.
EXTRA := $(BIN)/python -m pip install --quiet -c constraints.txt --no-build-isolation

# TORCH_INDEX names another package index for torch, because PyPI only has torch with CUDA for Linux (5 GB).
$(VENV)/installed-dev: $(VENV)/installed
	@echo "== installing the packages for learning and the checks (the extra [dev])"
	@if [ -n "$(TORCH_INDEX)" ]; then $(EXTRA) --no-deps --index-url "$(TORCH_INDEX)" torch; fi
	@$(EXTRA) 'flitgym[dev]'
	@touch $@

$(VENV)/installed-docs: $(VENV)/installed
	@echo "== installing the packages for the documentation (the extra [docs])"
	@$(EXTRA) 'flitgym[docs]'
	@touch $@

venv: $(VENV)/installed ## create .venv and build the core into it (nothing to do when up to date)

dev: $(VENV)/installed-dev ## the same, with torch and the other packages for learning and the checks (TORCH_INDEX=... for torch)

# Portable: uses only instructions that every machine of this architecture has. All versions of Python share a build
# folder and one scikit-build-core, which clears the folder of another. So the core is compiled once.
PYTHONS ?= 3.11 3.12 3.13 3.14

wheel: ## build wheels into dist/ for the installed ones of PYTHONS="3.11 3.12 3.13 3.14", and try each in a new environment
	@rm -rf build/wheel/dist && mkdir -p dist
	@$(PYTHON) -m pip install --quiet --upgrade --target build/wheel/tools -c constraints.txt pybind11 scikit-build-core
	@for python in $(addprefix python,$(PYTHONS)); do \
		$$python -c 'import venv' 2>/dev/null || { echo "== $$python is not installed"; continue; }; \
		echo "== building and trying the wheel of $$python"; \
		PYTHONPATH=$(CURDIR)/build/wheel/tools $$python -m pip wheel --quiet --no-deps --no-build-isolation \
			--config-settings=build-dir=build/wheel/core --wheel-dir build/wheel/dist/$$python .; \
		$$python -m venv --clear build/wheel/venv; \
		build/wheel/venv/bin/python -m pip install --quiet -c constraints.txt build/wheel/dist/$$python/*.whl; \
		(cd build/wheel/dist/$$python && ../../venv/bin/flitgym simulate topology=dragonfly_72 routing=ugal_l traffic.load=0.3 \
			run.warmup_ns=1000 run.measure_ns=1000); \
	done
	@cp build/wheel/dist/*/*.whl dist/ && ls dist/*.whl

# --- Main job ------------------------------------------------------------------------------------------------------

FIGURES := hpdc21_load_latency hpdc21_convergence

demo: venv ## a first picture within a minute, then the two figures of the HPDC'21 study with the quick preset
	@echo "== a first picture, in seconds: two routings and an agent on the smallest Dragonfly"
	@$(BIN)/flitgym reproduce figure=first_look preset=quick
	@echo "== the two figures of the HPDC'21 study, in minutes"
	@for figure in $(FIGURES); do $(BIN)/flitgym reproduce figure=$$figure preset=quick; done

# --- Checks --------------------------------------------------------------------------------------------------------

# Two targets at a time: the C++ tests compile while packages are installed and the other checks run.
test: ## run the checks of every change: lint, types, C++ and Python tests
	@$(MAKE) --no-print-directory -j2 test-cpp lint types test-python

test-deep: ## run the other checks: sanitizers, fuzzing, whole curves, plugins, notebooks, documentation
	@$(MAKE) --no-print-directory -j2 test-sanitized one-definition test-docs test-python-deep

lint: dev ## check the format of the sources, line lengths and words
	@echo "== ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "== clang-format"
	@$(BIN)/clang-format --dry-run -Werror $(CPP_FORMATTED)
	@echo "== line lengths"
	@git ls-files -z -- '*.md' '*CMakeLists.txt' '*.cmake' '*.yaml' '*.yml' '*.cff' | xargs -0 awk 'length > 120 \
		&& !/:\/\// && !/^ *\|/ { print FILENAME ":" FNR ": longer than 120 columns"; long = 1 } END { exit long }'
	@echo "== words"
	@$(BIN)/python tests/project/plain_words.py

# mypy checks the packages under the names that users import. Links in build/types replace the mapping of the build. The
# scripts of the benchmark import each other from their folder, as at run time.
types: dev ## run mypy in strict mode
	@echo "== mypy"
	@mkdir -p build/types/flitgym
	@for package in simcore env agents configs experiments; do ln -sfn ../../../$$package build/types/flitgym/$$package; done
	@for file in experiments/flitgym/*.py; do ln -sfn ../../../$$file build/types/flitgym/; done
	@MYPYPATH=build/types:simcore/bench $(BIN)/mypy -p flitgym

# The tests link the objects of the installed core, in the build folder of the installation.
test-cpp: venv ## build and run the C++ tests
	@echo "== C++ tests"
	@build=$$(dirname $$(ls -t build/cp*/CMakeCache.txt | head -n 1)); \
		cmake --build $$build -j $(JOBS) --target simcore_tests > build/test.log || { tail -n 60 build/test.log; exit 1; }; \
		ctest --test-dir $$build --output-on-failure -j $(JOBS) -LE deep

SANITIZED := -S simcore -B build/test -DCMAKE_BUILD_TYPE=RelWithDebInfo -DFLITGYM_TESTS=ON -DFLITGYM_SANITIZE=ON

test-sanitized: ## build and run the C++ tests with sanitizers
	@echo "== C++ tests with address and undefined-behaviour sanitizers"
	@mkdir -p build
	@cmake $(SANITIZED) > build/test.log || { cat build/test.log; exit 1; }
	@cmake --build build/test -j $(JOBS) --target simcore_tests >> build/test.log || { tail -n 60 build/test.log; exit 1; }
	@ctest --test-dir build/test --output-on-failure -j $(JOBS)

# The second library holds a type with two definitions. Its link must fail, or the check is broken.
one-definition: ## check that no type of the core has two definitions (needs GCC)
	@echo "== one definition of each type"
	@mkdir -p build
	@cmake -S simcore -B build/one_definition -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DFLITGYM_ODR=ON \
		> build/one_definition.log || { cat build/one_definition.log; exit 1; }
	@cmake --build build/one_definition -j $(JOBS) --target one_definition >> build/one_definition.log 2>&1 \
		|| { tail -n 60 build/one_definition.log; exit 1; }
	@if cmake --build build/one_definition --target two_definitions > build/two_definitions.log 2>&1 \
		|| ! grep -q "violates the C++ One Definition Rule" build/two_definitions.log; then \
		echo "the check did not find the type with two definitions:"; cat build/two_definitions.log; exit 1; fi

PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

test-python: dev ## run the Python tests without those marked `deep`
	@echo "== pytest"
	@$(PYTEST) -m "not deep"

test-python-deep: dev ## run the Python tests marked `deep`
	@echo "== pytest, deep"
	@$(PYTEST) -m deep

# TORCH_INDEX names another package index for torch, as above. The core and the packages go into build/lowest.
LOWEST ?= tests/env tests/api tests/agents/test_networks.py tests/experiments/test_convert.py

test-lowest: ## run tests with the lowest versions that pyproject.toml allows (needs uv): LOWEST="..." for some tests
	@uv venv --quiet --clear --python 3.11 build/lowest
	@uv pip install --quiet --python build/lowest --resolution lowest-direct --index-strategy unsafe-best-match \
		$(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)") --config-settings=build-dir=build/lowest-core '.[dev]'
	@build/lowest/bin/python -m pytest -n $(JOBS) --dist worksteal $(LOWEST)

# The deep Python tests run the notebooks.
test-docs: dev ## build the documentation without running its notebooks (warnings are errors)
	@echo "== sphinx"
	@$(SPHINX) -D nb_execution_mode=off -d build/docs.test docs build/docs_test

coverage: venv ## measure how often the intervals of run=steady contain the long-run mean (docs/steady.md, minutes)
	@cd tests/experiments && ../../$(BIN)/python steady_scenes.py

cluster-test: venv ## test a Ray cluster of two nodes, and jobs by submitit, on this machine (15 minutes)
	@FLITGYM_CLUSTER_TEST=1 $(BIN)/python -m pytest tests/cluster

# `make test-deep` fuzzes every file parser of the core with a small fixed budget. Here each fuzz test runs for
# FUZZ_SECONDS.
FUZZ_SECONDS ?= 120
FUZZ_CASES   := $(shell find simcore/tests -name '*_test.cpp' -exec sed -n 's/^DEEP_TEST(\(fuzz_[a-z0-9_]*\)).*/\1/p' {} +)

fuzz: venv ## test every file parser of the core with mutated files and sanitizers: FUZZ_SECONDS=120 each
	@cmake $(SANITIZED) > /dev/null
	@cmake --build build/test -j $(JOBS) --target simcore_tests > /dev/null
	@for case in $(FUZZ_CASES); do echo "== $$case"; FLITGYM_FUZZ_SECONDS=$(FUZZ_SECONDS) build/test/simcore_tests $$case || exit 1; done

bench-build: ## build the benchmark of the core for this machine
	@echo "== building the benchmark for this machine"
	@cmake -S simcore -B build/bench -DCMAKE_BUILD_TYPE=Release -DFLITGYM_BENCH=ON -DFLITGYM_NATIVE=ON \
		-DFLITGYM_WERROR=$(WERROR) > /dev/null
	@cmake --build build/bench -j $(JOBS) > /dev/null

# Without SCENES, also measures the environments in Python.
bench: venv bench-build ## measure the core and compare it with its goals: SCENES="..." for some scenes, SAVE=NAME keeps the results
	@$(BIN)/python simcore/bench/run.py $(SCENES) $(if $(SAVE),--save $(SAVE))
	@test -n "$(SCENES)" || $(BIN)/python simcore/bench/environments.py

bench-compare: venv bench-build ## compare the speed of the core with BASE=<commit>: SCENES="...", PAIRS=5, FAIL_BELOW=0.97
	@$(BIN)/python simcore/bench/compare.py "$(BASE)" $(SCENES) $(if $(PAIRS),--pairs $(PAIRS)) \
		$(if $(FAIL_BELOW),--fail-below $(FAIL_BELOW))

# --- Documentation -------------------------------------------------------------------------------------------------

reference: dev ## write the tables of docs/reference from the core and the code, and the tables of recorded results
	@FLITGYM_PLUGINS=none $(BIN)/python docs/_ext/reference_tables.py
	@FLITGYM_PLUGINS=none $(BIN)/python docs/_ext/result_tables.py

pictures: venv ## draw the pictures of docs/pictures again: the networks, the figures of architecture, the quickstart
	@for script in router decision topologies; do $(BIN)/python docs/pictures/$$script.py; done
	@$(BIN)/flitgym simulate -m study=quickstart topology=dragonfly_72 routing=minimal,ugal_l,par,dqn_dragonfly \
		traffic=adversarial traffic.load=0.1,0.3,0.5 seed=1,2,3
	@cp results/quickstart/sweep.png docs/pictures/quickstart.png
	@$(BIN)/flitgym simulate -m study=flows topology=dragonfly_72 routing=minimal,ugal_l,par seed=1,2,3 traffic=flows \
		traffic.sizes=hadoop traffic.load=0.3 traffic.pattern=permutation run.measure_ns=100000
	@cp results/flows/sweep.png docs/pictures/flows.png
	@$(BIN)/flitgym simulate study=queue topology=dragonfly_72 router=sc22 routing=par workload=queue \
		workload.count=80 workload.interarrival_ns=40000 workload.placement=clustered_router
	@$(BIN)/flitgym draw result=$$(ls -d results/queue/*clustered*) color=wait out=docs/pictures/queue.png

SPHINX := $(BIN)/python -m sphinx -E -a -W --keep-going -q -b html

docs: $(VENV)/installed-docs ## build the documentation into build/docs (warnings are errors)
	@echo "== sphinx"
	@$(SPHINX) -d build/docs.cache docs build/docs
	@echo "build/docs/index.html"

# Old rows of a suite are replaced as a whole.
leaderboard: dev ## run all baselines of the benchmark's SUITES="quick jobs", and write their rows, figures and tables
	@for suite in $(SUITES); do \
		rm -f results/$$suite.csv; \
		$(BIN)/flitgym benchmark suite=$$suite baselines=run record=results/$$suite.csv; \
		cp results/$$suite.csv experiments/benchmarks/suites/$$suite.csv; \
		! test -f docs/benchmark_$$suite.png || cp results/benchmark_$$suite/benchmark.png docs/benchmark_$$suite.png; \
	done
	@$(MAKE) --no-print-directory reference

# --- Housekeeping --------------------------------------------------------------------------------------------------

format: dev ## format the Python and C++ sources, and fix what the linter can fix
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/clang-format -i $(CPP_FORMATTED)

constraints: ## pin the newest versions that pyproject.toml allows (needs uv)
	@printf '%s\n' 'scikit-build-core>=1.1,<1.2' 'pybind11>=3.1,<3.2' | \
		uv pip compile --quiet --upgrade --universal --python-version 3.11 --no-header --extra dev --extra docs pyproject.toml - -o constraints.txt

clean: ## remove all built files (results are kept)
	rm -rf build $(VENV)
