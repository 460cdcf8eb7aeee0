## make fuzz       libFuzzer for T=60 seconds on each target (tests/fuzz/README.md)
# tests/fuzz/targets/*.cc: each is one libFuzzer program (MODE=fuzz, clang), and one test that runs it over its seed corpus.
FUZZ_TARGETS := $(basename $(notdir $(wildcard tests/fuzz/targets/*.cc)))
CXXFLAGS_tests/fuzz/targets := -O1
# Ours, built as a part of the targets: a network in memory.
FUZZ_COMMON := $(call objects,tests/fuzz/kernel.cc)
FUZZ_LINK = @mkdir -p $(@D); echo "  LINK $@"; $(CXX) -pthread $(SAN) -o $@ $(filter %.o %.a,$^)

# Not under ThreadSanitizer: targets have one thread, and transport/tcp/tsan_socket.h goes past the sockets in memory.
ifneq ($(MODE),tsan)
FUZZ_TESTS := $(FUZZ_TARGETS:%=$(B)/tests/fuzz/%_test)
$(FUZZ_TESTS): $(B)/tests/fuzz/%_test: $(B)/obj/tests/fuzz/targets/%.o $(B)/obj/tests/fuzz/replay.o $(FUZZ_COMMON) \
    $(B)/lib/libfanin-test.a $(ARCHIVES)
	$(FUZZ_LINK) -lgtest $(CORE_LIBS) -lhwy -ldl $(LDFLAGS)
MORE_TESTS += $(FUZZ_TESTS)
else
LEFT_OUT_fuzz := corpora of the fuzz targets left out: one thread, and sockets in memory that ThreadSanitizer does not see
MORE_TESTS += $(B)/tests/left-out/fuzz
endif

ifeq ($(MODE),fuzz)
FUZZ_PROGRAMS := $(FUZZ_TARGETS:%=$(B)/fuzz/%)
$(FUZZ_PROGRAMS): $(B)/fuzz/%: $(B)/obj/tests/fuzz/targets/%.o $(FUZZ_COMMON) $(ARCHIVES)
	$(FUZZ_LINK) -fsanitize=fuzzer $(CORE_LIBS) -lhwy -ldl $(LDFLAGS)
.PHONY: fuzz-programs
fuzz-programs: $(FUZZ_PROGRAMS)
endif

T ?= 60
.PHONY: fuzz
fuzz:
	@tools/deps.sh fuzz
	@$(MAKE) --no-print-directory -j$(JOBS) MODE=fuzz CXX='$(FUZZ_CXX)' fuzz-programs
	@tests/fuzz/run.sh $(T) build/fuzz/fuzz $(FUZZ_TARGETS)
FUZZ_CXX ?= clang++
