## make soak N=1000  faults against jobs, from seeds (FIRST=1, KIND=one; tests/faults/README.md), and long lives
FAULTS_OBJ := $(call objects,$(filter-out %_test.cc %main.cc,$(wildcard tests/faults/*.cc)))
FAULTS_LIBS := $(B)/lib/libfanin-test.a $(B)/lib/libfanin-perf.a $(ARCHIVES)
$(B)/lib/libfanin-faults.a: $(FAULTS_OBJ)
$(B)/tests/faults/fault-soak: $(call objects,tests/faults/main.cc) $(B)/lib/libfanin-faults.a $(FAULTS_LIBS)
	$(LINK) -lgtest $(CORE_LIBS) -lhwy -ldl $(LDFLAGS)
FAULTS_TESTS := $(patsubst %.cc,$(B)/%,$(wildcard tests/faults/*_test.cc))
$(FAULTS_TESTS): $(B)/tests/faults/%_test: $(call objects,tests/faults/%_test.cc) $(B)/lib/libfanin-faults.a $(FAULTS_LIBS)
	$(LINK) -lgtest $(CORE_LIBS) -lhwy -ldl $(LDFLAGS)
# Started by them.
$(FAULTS_TESTS) $(B)/tests/faults/fault-soak: | $(PLUGIN) $(B)/bin/fanin-reducer \
  $(if $(HAVE_CPUDEV),$(if $(filter-out tsan,$(MODE)),$(B)/cpudev/nccl-ranks))
MORE_TESTS += $(FAULTS_TESTS)

# A clock that jumps, preloaded by tests/e2e/clock_test.cc.
$(B)/tests/jumping_clock.so: tests/support/jumping_clock.c
	@mkdir -p $(@D)
	@echo "  CC $<"
	$(Q)$(CC) -std=c11 -O1 -fPIC -shared $(WARN) -o $@ $<
$(B)/tests/e2e/clock_test: | $(B)/tests/jumping_clock.so

N ?= 100
FIRST ?= 1
LIFECYCLE := $(patsubst %,$(B)/tests/e2e/%_test,lifecycle limits)
.PHONY: soak soak-run
soak:
	@tools/deps.sh test
	@tools/nccl.sh check || tools/nccl.sh || true
	@$(MAKE) --no-print-directory -j$(JOBS) all $(B)/tests/faults/fault-soak $(LIFECYCLE)
	@$(MAKE) --no-print-directory soak-run
soak-run:
	@FANIN_BUILD=$(abspath $(B)) $(B)/tests/faults/fault-soak -n $(N) -s $(FIRST) $(if $(KIND),-k $(KIND)) $(SOAK)
	@$(if $(KIND),,FANIN_TEST_LONG=1 FANIN_TEST_LIMIT_S=1800 FANIN_TEST_PROGRAM_LIMIT_S=3600 python3 tests/run.py --build $(B) $(LIFECYCLE))
