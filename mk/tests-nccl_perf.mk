# Tests of fanin-nccl-perf link its parts that know nothing of CUDA and NCCL, so they run on every machine.
NCCL_PERF_PURE := $(filter-out %/main.cc %/device.cc %/rank.cc %/bench.cc %/run.cc %/nodes.cc,$(wildcard perf/nccl_perf/*.cc))
$(B)/lib/libfanin-nccl-perf.a: $(call objects,$(NCCL_PERF_PURE))
NCCL_PERF_TESTS := $(patsubst %.cc,$(B)/%,$(wildcard tests/unit/nccl_perf_*_test.cc))
NCCL_PERF_LIBS := $(B)/lib/libfanin-nccl-perf.a $(B)/lib/libfanin-perf.a
$(NCCL_PERF_TESTS): $(NCCL_PERF_LIBS)
# Once more at the end of the line, where the linker looks for what these archives need of each other.
$(NCCL_PERF_TESTS): private LDFLAGS += $(NCCL_PERF_LIBS) $(B)/lib/libfanin-core.a $(CORE_LIBS)

# For tools/demo.sh.
.PHONY: cpudev
cpudev: $(B)/cpudev/libcpudev.so

# The end-to-end test runs these where they can be built.
$(B)/tests/e2e/nccl_perf_test: | $(B)/bin/fanin-reducer $(PLUGIN) $(if $(HAVE_CPUDEV),$(B)/bin/fanin-nccl-perf $(B)/cpudev/libcpudev.so)
