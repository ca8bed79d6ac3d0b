# The short front door; CMakeLists.txt is the list of files.
#
#   make            build the library and the command line        make check    all the rules (CONTRIBUTING.md)
#   make test       set up, build, run every test                 make bench    timings
#   make demo       the main jobs on built-in data                make fuzz     fuzz each reader TIME seconds
#   make install    into PREFIX                                   make soak     kills, faults, streams, fuzz for TIME seconds
#   make uninstall  what `make install` wrote                     make deb      Debian packages, into BUILD/deb
#   make clean      remove the build folder                       make wheel    a Python wheel, into BUILD/wheel
#                                                                 make check-python  under the newest scikit-learn
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= 2
TIME ?= 60
MAKEFLAGS += --no-print-directory

.PHONY: all setup test demo check check-python cuda mpi wheel bench fuzz soak install uninstall deb clean

all: setup $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) -j $(JOBS)

setup:
	@tools/setup.sh build

$(BUILD)/CMakeCache.txt: | setup
	@mkdir -p $(BUILD)
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) >$(BUILD)/configure.log 2>&1 || \
		{ cat $(BUILD)/configure.log; rm -f $@; exit 1; }

test: all
	@cd $(BUILD) && { ctest --output-on-failure -LE processes -j $(JOBS) --output-junit tests.xml; status=$$?; \
		python3 -B $(CURDIR)/tools/skipped.py tests.xml; exit $$status; }

demo: setup $(BUILD)/CMakeCache.txt
	@echo "building the program ($(BUILD)/build.log)"
	@cmake --build $(BUILD) -j $(JOBS) --target fabayes >$(BUILD)/build.log 2>&1 || { cat $(BUILD)/build.log; exit 1; }
	@$(BUILD)/fabayes demo

check:
	@tools/setup.sh check
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/check.sh

bench: all
	@tools/setup.sh bench
	@tools/bench.sh $(BUILD)

fuzz:
	@tools/setup.sh check
	@BUILD=$(BUILD) TIME=$(TIME) JOBS=$(JOBS) tools/fuzz.sh

cuda: setup $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) --target cuda

mpi: setup $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) --target mpi

wheel:
	@tools/wheel.sh $(BUILD)

check-python: all
	@tools/check_python.sh $(BUILD)

soak: all
	@python3 tools/soak.py $(BUILD) $(TIME)

install: all
	cmake --install $(BUILD) --prefix $(PREFIX)

uninstall:
	@cmake --build $(BUILD) --target uninstall

deb:
	@tools/setup.sh deb
	@tools/deb.sh $(BUILD)/deb $(JOBS)

clean:
	rm -rf $(BUILD) $(BUILD)-check $(BUILD)-abi $(BUILD)-asan-gcc $(BUILD)-asan-clang $(BUILD)-tsan $(BUILD)-fuzz
