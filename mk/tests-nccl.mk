# The real NCCL on a CPU device (tests/nccl/README.md); it needs CUDA's and NCCL's headers.
CPUDEV := tests/nccl
CPUDEV_CORE_OBJ := $(call objects,$(wildcard $(CPUDEV)/device/*.cc $(CPUDEV)/device/kernel/*.cc))
CPUDEV_LIB_OBJ := $(call objects,$(wildcard $(CPUDEV)/device/cuda/*.cc $(CPUDEV)/device/hook/*.cc))
CUDA_FLAGS := $(addprefix -isystem ,$(sort $(CUDA_INC) $(NCCL_INC)))
# Exported: the functions by which libnccl and programs reach this CUDA runtime.
CXXFLAGS_tests/nccl/device/cuda := -fvisibility=default $(CUDA_FLAGS)
CXXFLAGS_tests/nccl/ranks := $(CUDA_FLAGS)
CXXFLAGS_tests/nccl/device/kernel := -O3

$(B)/lib/libcpudev-core.a: $(CPUDEV_CORE_OBJ)
$(B)/cpudev/libnvidia-ml.so.1: $(call objects,$(CPUDEV)/nvml/nvml.cc)
	$(LINK) -shared -Wl,-soname,libnvidia-ml.so.1 $(LDFLAGS)
# Needs libnccl, so that its constructor finds it mapped, and the NVML stand-in, so that NCCL's dlopen finds that.
$(B)/cpudev/libcpudev.so: $(CPUDEV_CORE_OBJ) $(CPUDEV_LIB_OBJ) $(B)/cpudev/libnvidia-ml.so.1
	@mkdir -p $(@D); echo "link $@"
	@$(CXX) -shared -pthread $(SAN) -o $@ $(filter %.o,$^) -Wl,-soname,libcpudev.so -Wl,--no-as-needed $(B)/cpudev/libnvidia-ml.so.1 $(NCCL_SO) \
	  '-Wl,-rpath,$$ORIGIN' -Wl,-rpath,$(dir $(NCCL_SO)) -ldl $(LDFLAGS)
$(B)/cpudev/nccl-ranks: $(call objects,$(wildcard $(CPUDEV)/ranks/*.cc)) $(B)/cpudev/libcpudev.so
	@mkdir -p $(@D); echo "link $@"
	@$(CXX) -pthread $(SAN) -o $@ $(filter %.o,$^) $(B)/cpudev/libcpudev.so $(NCCL_SO) '-Wl,-rpath,$$ORIGIN' \
	  -Wl,-rpath,$(dir $(NCCL_SO)) $(LDFLAGS)
# The device's own tests need neither CUDA nor NCCL; with an NCCL they read its symbols too.
$(B)/tests/nccl/cpudev_test: $(call objects,$(wildcard $(CPUDEV)/unit/*.cc)) $(B)/lib/libcpudev-core.a \
    $(B)/lib/libfanin-test.a
	$(LINK) $(if $(HAVE_CPUDEV),-Wl$(comma)--no-as-needed $(NCCL_SO) -Wl$(comma)-rpath$(comma)$(dir $(NCCL_SO))) -lgtest -ldl \
	  $(LDFLAGS)
$(B)/tests/nccl/nccl_test: $(call objects,$(wildcard $(CPUDEV)/cases/*.cc)) $(B)/lib/libfanin-test.a
	$(LINK) -lgtest $(LDFLAGS)

MORE_TESTS += $(B)/tests/nccl/cpudev_test
ifneq ($(and $(HAVE_CPUDEV),$(filter-out tsan,$(MODE))),)
# Run by nccl_test; the plugin and the reducer come with `all`.
$(B)/tests/nccl/nccl_test: | $(B)/cpudev/nccl-ranks $(ABI_ONLY)
MORE_TESTS += $(B)/tests/nccl/nccl_test
else
MORE_TESTS += tests/nccl/without_nccl.sh
endif

# Real releases of NCCL, a test each (tests/nccl/matrix/release.py knows them all); they are fetched when they run.
NCCL_MATRIX := $(shell sed -n 's/^TESTED = //p' $(CPUDEV)/matrix/release.py | tr -d '[]",')
NCCL_MATRIX_TESTS := $(NCCL_MATRIX:%=$(B)/tests/nccl/matrix-%)
$(NCCL_MATRIX_TESTS): $(B)/tests/nccl/matrix-%: mk/tests-nccl.mk | $(B)/cpudev/nccl-ranks
	@mkdir -p $(@D); printf '#!/bin/sh\nexec python3 $(CPUDEV)/matrix/matrix.py --test $*\n' >$@; chmod +x $@
# What of tests/gpu/run.py needs no GPU.
$(B)/tests/gpu/cpu-only: mk/tests-nccl.mk | $(B)/bin/fanin-reducer $(B)/bin/fanin-nccl-perf $(B)/cpudev/libcpudev.so $(PLUGIN)
	@mkdir -p $(@D); printf '#!/bin/sh\nexec python3 tests/gpu/run.py --cpu-only\n' >$@; chmod +x $@
ifneq ($(and $(HAVE_CPUDEV),$(filter release,$(MODE))),)
MORE_TESTS += $(NCCL_MATRIX_TESTS) tests/nccl/matrix/broken_wheels $(B)/tests/gpu/cpu-only
else ifneq ($(HAVE_CPUDEV),)
LEFT_OUT_nccl-matrix := other releases of NCCL and the checks of a GPU machine left out: the plugin code is the same as under 2.28, and the checks preload the CPU device
MORE_TESTS += $(B)/tests/left-out/nccl-matrix
endif
## make nccl-matrix  the plugin under every real NCCL from 2.16 on; writes the table of docs/nccl-compatibility.md (fetches 5 GB)
.PHONY: nccl-matrix
nccl-matrix:
	@tools/deps.sh test
	@$(MAKE) --no-print-directory -j$(JOBS) all $(B)/cpudev/nccl-ranks
	@python3 $(CPUDEV)/matrix/matrix.py --build $(B) --doc docs/nccl-compatibility.md
