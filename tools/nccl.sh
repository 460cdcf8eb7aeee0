#!/bin/sh
# Makes sure there is an NCCL to test with: where none of the tested release is installed with its and CUDA's headers, fetches
# the release and the CUDA runtime from the Python package registry into build/nccl-wheels (include/ and lib/), where
# mk/find.mk looks. Nothing is installed, and what is there already is left alone. `nccl.sh check` only answers, by its
# exit status, whether there is nothing to fetch.
set -eu
nccl=2.28.9 cuda=13.0
cd "$(dirname "$0")/.."
into=build/nccl-wheels

fail() {
  echo "nccl.sh: $1" >&2
  exit 1
}
found=$(make -s print-nccl)
case "$found" in
  "${nccl%.*}".*) there=1 ;;
  *) there="" ;;
esac
if [ "${1:-}" = check ]; then
  # On another processor the demo does without.
  [ -n "$there" ] || [ "$(uname -m)" != x86_64 ]
  exit
fi
[ "$(uname -m)" = x86_64 ] || fail "the CPU device under NCCL is written for x86-64, this is $(uname -m)"
if [ -n "$there" ]; then
  echo "NCCL $found"
  exit 0
fi

command -v python3 >/dev/null 2>&1 || fail "needs python3 and pip; run: apt-get install -y python3-pip"
python3 -m pip --version >/dev/null 2>&1 || fail "needs pip; run: apt-get install -y python3-pip"
draft=$into.tmp
trap 'rm -rf "$draft"' EXIT
rm -rf "$draft"
mkdir -p "$draft/wheels"
echo "fetching NCCL $nccl and the CUDA $cuda runtime (about 200 MB)"
for package in "nvidia-nccl-cu13==$nccl" "nvidia-cuda-runtime==$cuda.*" "nvidia-cuda-crt==$cuda.*" \
  "nvidia-cuda-cccl==$cuda.*"; do
  python3 -m pip download -q --no-deps --only-binary :all: --disable-pip-version-check -d "$draft/wheels" "$package" \
    >"$draft/log" 2>&1 || fail "cannot fetch $package: $(tail -n 1 "$draft/log")"
done
for wheel in "$draft"/wheels/*.whl; do
  python3 -m zipfile -e "$wheel" "$draft/files" || fail "cannot unpack $wheel"
done
# The wheels keep their parts in different folders: nvidia/nccl, nvidia/cu13, nvidia/cuda_runtime …
mkdir -p "$draft/include" "$draft/lib"
for folder in "$draft"/files/nvidia/*; do
  for part in include lib; do
    [ ! -d "$folder/$part" ] || cp -R "$folder/$part/." "$draft/$part/"
  done
done
for file in include/nccl.h include/cuda_runtime_api.h include/cuda.h include/crt/host_defines.h include/nv/target lib/libnccl.so.2; do
  [ -e "$draft/$file" ] || fail "the packages hold no $file"
done
rm -rf "$draft/wheels" "$draft/files" "$draft/log" "$into"
mv "$draft" "$into"
found=$(make -s print-nccl)
[ -n "$found" ] || fail "fetched into $into, but make does not find it"
echo "NCCL $found"
