# Finds CUDA and NCCL: CUDA_HOME and NCCL_HOME, pkg-config, usual folders, and what tools/nccl.sh fetched into build/.
# Nothing is required: without them only the targets that run NCCL are left out.
# FANIN_NO_SYSTEM_CUDA=1 looks only at the latter. It comes before what is installed, since it is there only on purpose.
NCCL_WHEELS := $(abspath build/nccl-wheels)
CUDA_CANDIDATES := $(if $(FANIN_NO_SYSTEM_CUDA),$(NCCL_WHEELS),$(CUDA_HOME) $(CUDA_PATH) $(NCCL_WHEELS) \
  $(patsubst %/bin/nvcc,%,$(shell command -v nvcc 2>/dev/null)) /usr/local/cuda)
CUDA_INC := $(firstword $(foreach d,$(CUDA_CANDIDATES),$(if $(wildcard $(d)/include/cuda_runtime_api.h),$(d)/include)))
CUDA_LIB := $(firstword $(foreach d,$(CUDA_CANDIDATES),\
  $(foreach l,lib64 lib,$(if $(wildcard $(d)/$(l)/libcudart.so*),$(d)/$(l)))))
NCCL_CANDIDATES := $(if $(FANIN_NO_SYSTEM_CUDA),$(NCCL_WHEELS),$(NCCL_HOME) $(NCCL_WHEELS) \
  $(shell pkg-config --variable=prefix nccl 2>/dev/null) $(CUDA_CANDIDATES) /usr/local /usr)
NCCL_INC := $(firstword $(foreach d,$(NCCL_CANDIDATES),$(if $(wildcard $(d)/include/nccl.h),$(d)/include)))
NCCL_SO := $(firstword $(foreach d,$(NCCL_CANDIDATES),\
  $(wildcard $(addsuffix /libnccl.so.2,$(d)/lib64 $(d)/lib $(d)/lib/$(shell uname -m)-linux-gnu))))
HAVE_NCCL := $(if $(and $(CUDA_INC),$(CUDA_LIB),$(NCCL_INC),$(NCCL_SO)),1)
# The release by its header: 2.28.9.
NCCL_VERSION := $(if $(HAVE_NCCL),$(shell sed -n 's/^\#define NCCL_\(MAJOR\|MINOR\|PATCH\) //p' $(NCCL_INC)/nccl.h | paste -sd.))
# The CPU device patches x86-64 code; what a kernel reads has one layout in 2.28.3 and later 2.28 releases.
HAVE_CPUDEV := $(and $(filter x86_64,$(shell uname -m)),$(filter 2.28.%,$(NCCL_VERSION)))
# What tools/nccl.sh asks.
.PHONY: print-nccl
print-nccl:
	@echo "$(if $(HAVE_NCCL),$(NCCL_VERSION) $(NCCL_SO) $(CUDA_INC))"
