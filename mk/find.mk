# Finds CUDA and NCCL: CUDA_HOME and NCCL_HOME, pkg-config, usual folders, and what tools/nccl.sh fetched into build/.
# Nothing is required: without them only the targets that run NCCL are left out.
CUDA_CANDIDATES := $(CUDA_HOME) $(CUDA_PATH) $(patsubst %/bin/nvcc,%,$(shell command -v nvcc 2>/dev/null)) \
  /usr/local/cuda build/nccl-wheels
CUDA_INC := $(firstword $(foreach d,$(CUDA_CANDIDATES),$(if $(wildcard $(d)/include/cuda_runtime_api.h),$(d)/include)))
CUDA_LIB := $(firstword $(foreach d,$(CUDA_CANDIDATES),\
  $(foreach l,lib64 lib,$(if $(wildcard $(d)/$(l)/libcudart.so*),$(d)/$(l)))))
NCCL_CANDIDATES := $(NCCL_HOME) $(shell pkg-config --variable=prefix nccl 2>/dev/null) $(CUDA_CANDIDATES) /usr/local /usr
NCCL_INC := $(firstword $(foreach d,$(NCCL_CANDIDATES),$(if $(wildcard $(d)/include/nccl.h),$(d)/include)))
NCCL_SO := $(firstword $(foreach d,$(NCCL_CANDIDATES),\
  $(wildcard $(addsuffix /libnccl.so.2,$(d)/lib64 $(d)/lib $(d)/lib/$(shell uname -m)-linux-gnu))))
HAVE_NCCL := $(if $(and $(CUDA_INC),$(CUDA_LIB),$(NCCL_INC),$(NCCL_SO)),1)
