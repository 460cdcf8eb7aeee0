#!/bin/sh
# Stands in for the real-NCCL tests where they cannot run: skipped (77), and the last line says why, or how to get NCCL.
case "${FANIN_BUILD:-}" in
  */tsan)
    echo "real-NCCL tests skipped: ThreadSanitizer cannot see the synchronisation inside libnccl"
    exit 77
    ;;
esac
if [ "$(uname -m)" != x86_64 ]; then
  echo "real-NCCL tests skipped: the CPU device under NCCL is written for x86-64"
else
  echo "real-NCCL tests skipped: no libnccl.so.2 with NCCL's and CUDA's headers here; tools/nccl.sh fetches them into build/"
fi
exit 77
