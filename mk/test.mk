## make test       build and run every test; installs what is missing where it may (about 10 minutes)
## make asan-test  the same tests under AddressSanitizer and UndefinedBehaviorSanitizer, as far as the tools allow
##                 (what is left out and why: docs/architecture.md, Sanitizers)
## make tsan-test  the same under ThreadSanitizer
## make demo       the main job: the real NCCL, 5 nodes x 2 GPUs (on a CPU device), through 5 reducers
# Tests are compiled more often than they run: three times faster so, and stack traces stay.
$(foreach d,unit e2e support nccl/cases,$(eval CXXFLAGS_tests/$(d) := -O1 -g1))
# std::regex: g++ 12 takes it for uninitialized where it is instrumented (GCC bug 105562).
CXXFLAGS_tests/nccl/cases/tuner_cases.cc := $(if $(SAN),$(if $(GNU_UNIQUE),-Wno-maybe-uninitialized))
# Each tests/<kind>/<name>_test.cc is one GoogleTest program; it links what it uses of all libraries.
TESTS := $(patsubst %.cc,$(B)/%,$(wildcard tests/unit/*_test.cc tests/e2e/*_test.cc))
$(TESTS): $(B)/tests/%_test: $(B)/obj/tests/%_test.o $(B)/lib/libfanin-test.a $(B)/lib/libfanin-perf.a $(ARCHIVES)
	$(LINK) -lgtest $(CORE_LIBS) -lhwy -ldl $(LDFLAGS)

# Stands for tests that a build leaves out: skipped (77), its line says why. One a group, $(B)/tests/left-out/GROUP with
# its reason in LEFT_OUT_GROUP; the groups are listed in docs/architecture.md, Sanitizers.
$(B)/tests/left-out/%: mk/test.mk $(wildcard mk/tests-*.mk)
	@mkdir -p $(@D); printf '#!/bin/sh\necho "%s"\nexit 77\n' '$(LEFT_OUT_$*)' >$@; chmod +x $@

include $(wildcard mk/tests-*.mk)

.PHONY: tests test print-tests test-run asan-test tsan-test demo
tests: all $(TESTS) $(MORE_TESTS)
test:
	@tools/deps.sh test
	@tools/nccl.sh check || tools/nccl.sh || echo "the tests with the real NCCL will be skipped"
	@$(MAKE) --no-print-directory -j$(JOBS) tests
	@$(MAKE) --no-print-directory test-run
test-run:
	@python3 tests/run.py --build $(B) $(if $(SAN),--jobs 1) $(TESTS) $(MORE_TESTS)
# For tests/conformance/left_out.
print-tests:
	@echo $(TESTS) $(MORE_TESTS)
asan-test:
	@$(MAKE) --no-print-directory MODE=asan test
tsan-test:
	@$(MAKE) --no-print-directory MODE=tsan test
demo:
	@tools/deps.sh demo
	@tools/demo.sh
JOBS ?= $(shell nproc)
