# Short names for what people do most. Each command is printed before it runs; the build itself is CMake's.

BUILD := build/release
MODEL := models/kvern-tiny-8m-q8_0.gguf
JOBS := $(shell nproc)

.PHONY: help build demo check bench fuzz tidy lint format install clean

help:
	@echo "make demo      install what is needed, build, and generate text with the bundled model"
	@echo "make check     install what is needed, build, and run the default tests"
	@echo "make build     build the release preset ($(BUILD))"
	@echo "make bench     measure the bundled model on this machine"
	@echo "make fuzz      run each fuzzer for a minute (clang-19)"
	@echo "make tidy      clang-tidy and thread-safety analysis (clang-19)"
	@echo "make lint      layers, headers, tests, sizes, format"
	@echo "make format    rewrite the sources as clang-format-19 would"
	@echo "make install   install to PREFIX (default /usr/local)"
	@echo "make clean     remove build/"

demo:
	tools/setup.sh build
	cmake --preset release -DKVERN_BUILD_TESTS=OFF -DKVERN_BUILD_BENCH=OFF -DKVERN_BUILD_EXAMPLES=OFF
	cmake --build $(BUILD) --target kvern
	$(BUILD)/src/cli/kvern generate -m $(MODEL) -p "Once upon a time" -n 64

build:
	tools/setup.sh test
	cmake --preset release -DKVERN_BUILD_TESTS=ON -DKVERN_BUILD_BENCH=ON -DKVERN_BUILD_EXAMPLES=ON
	cmake --build $(BUILD)

check: build
	ctest --test-dir $(BUILD) -LE "slow|peer|bench" --output-on-failure -j $(JOBS)

bench: build
	$(BUILD)/src/cli/kvern bench $(MODEL)

fuzz:
	tools/setup.sh ci
	tools/fuzz.sh 60

tidy:
	tools/setup.sh ci
	tools/tidy.sh

lint: build
	ctest --test-dir $(BUILD) -L lint --output-on-failure

format:
	tools/check_format.sh --fix

# What is installed, and nothing else: no tests, no benchmarks.
install: PREFIX ?= /usr/local
install:
	tools/setup.sh build
	cmake --preset release -DKVERN_BUILD_TESTS=OFF -DKVERN_BUILD_BENCH=OFF -DKVERN_BUILD_EXAMPLES=OFF
	cmake --build $(BUILD)
	cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	rm -rf build
