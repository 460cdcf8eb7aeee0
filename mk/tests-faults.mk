## make soak N=1000  faults against jobs on reducers, from seeds (FIRST=1, KIND=all; tests/faults/README.md)
FAULTS_OBJ := $(call objects,$(filter-out %_test.cc %main.cc,$(wildcard tests/faults/*.cc)))
FAULTS_LIBS := $(B)/lib/libfanin-test.a $(B)/lib/libfanin-perf.a $(ARCHIVES)
$(B)/lib/libfanin-faults.a: $(FAULTS_OBJ)
$(B)/tests/faults/fault-soak: $(call objects,tests/faults/main.cc) $(B)/lib/libfanin-faults.a $(FAULTS_LIBS)
	$(LINK) -lgtest -lhwy -ldl $(LDFLAGS)
FAULTS_TESTS := $(patsubst %.cc,$(B)/%,$(wildcard tests/faults/*_test.cc))
$(FAULTS_TESTS): $(B)/tests/faults/%_test: $(call objects,tests/faults/%_test.cc) $(B)/lib/libfanin-faults.a $(FAULTS_LIBS)
	$(LINK) -lgtest -lhwy -ldl $(LDFLAGS)
# Started by them.
$(FAULTS_TESTS) $(B)/tests/faults/fault-soak: | $(PLUGIN) $(B)/bin/fanin-reducer \
  $(if $(HAVE_CPUDEV),$(if $(filter-out tsan,$(MODE)),$(B)/cpudev/nccl-ranks))
MORE_TESTS += $(FAULTS_TESTS)

N ?= 100
FIRST ?= 1
.PHONY: soak
soak:
	@tools/deps.sh test
	@$(MAKE) --no-print-directory -j$(JOBS) $(B)/tests/faults/fault-soak
	@FANIN_BUILD=$(abspath $(B)) $(B)/tests/faults/fault-soak -n $(N) -s $(FIRST) $(if $(KIND),-k $(KIND)) $(SOAK)
