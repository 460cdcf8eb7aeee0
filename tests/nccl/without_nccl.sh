#!/bin/sh
# Stands in for the real-NCCL tests where mk/find.mk finds no NCCL: skipped (77), and the last line says how to get it.
if [ "$(uname -m)" != x86_64 ]; then
  echo "real-NCCL tests skipped: the CPU device under NCCL is written for x86-64"
else
  echo "real-NCCL tests skipped: no libnccl.so.2 with NCCL's and CUDA's headers here; tools/nccl.sh fetches them into build/"
fi
exit 77
