# fanin: `make help` lists the targets. MODE=asan, tsan or fuzz builds with sanitizers into its own folder.
MODE ?= release
ifeq ($(MODE),release)
B := build
else
B := build/$(MODE)
endif
PREFIX ?= /usr/local
CXX ?= g++
CC ?= gcc
OPT ?= -O2 -g
.DEFAULT_GOAL := all
# V=1 shows the commands.
Q := $(if $(V),,@)

WARN := -Wall -Wextra -Werror
# Not vptr: that check opens a pipe, and takes its failure for a finding in tests that run out of descriptors.
SAN_asan := -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined -fno-omit-frame-pointer
SAN_tsan := -fsanitize=thread -fno-omit-frame-pointer
SAN_fuzz := $(SAN_asan) -fsanitize=fuzzer-no-link
SAN := $(SAN_$(MODE))
# -ffp-contract=off: results must not depend on whether the CPU has FMA. No unique symbols: dlclose must unload.
GNU_UNIQUE := $(if $(findstring clang,$(shell $(CXX) --version 2>/dev/null | head -1)),,-fno-gnu-unique)
CXXFLAGS_ALL := -std=c++20 $(OPT) -fPIC -fvisibility=hidden -ffp-contract=off -pthread $(GNU_UNIQUE) $(WARN) $(SAN) \
  -Iinclude -I. -MMD -MP $(CXXFLAGS)
CFLAGS_ALL := -std=c11 $(OPT) -fPIC -pthread $(WARN) $(SAN) -Iinclude -I. -MMD -MP $(CFLAGS)

include mk/find.mk
include mk/build.mk
include mk/test.mk
include mk/bench.mk
include mk/packages.mk
include mk/tidy.mk

.PHONY: help
help:
	@sed -n 's/^##[ ]\{0,1\}//p' $(MAKEFILE_LIST)
