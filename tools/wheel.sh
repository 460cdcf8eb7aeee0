#!/bin/sh
# wheel.sh: packs the built plugin and the doctor into a wheel, build/wheel/fanin_nccl-*.whl. Its platform tag (PEP 600) is the oldest
# glibc that the libraries ask for.
set -eu
cd "$(dirname "$0")/.."
plugin=build/lib/libnccl-net-fanin.so
environment=build/lib/libnccl-env.so
doctor=build/bin/fanin-doctor
FANIN_WHEEL_VERSION=$(sed -n 's/.*kFaninVersion = "\(.*\)".*/\1/p' include/fanin/version.h)
glibc=$(objdump -T $plugin $environment $doctor | sed -n 's/.*(GLIBC_\([0-9.]*\)).*/\1/p' | sort -V | tail -1)
FANIN_WHEEL_PLATFORM=manylinux_$(echo "$glibc" | tr . _)_$(uname -m)
export FANIN_WHEEL_VERSION FANIN_WHEEL_PLATFORM
work=build/wheel/source
rm -rf build/wheel
mkdir -p $work
cp -r deploy/wheel/. LICENSE $work
sed -i "s/@VERSION@/$FANIN_WHEEL_VERSION/" $work/fanin_nccl/__main__.py
mkdir -p $work/fanin_nccl/lib/env $work/fanin_nccl/bin
install -m 755 $plugin $work/fanin_nccl/lib
install -m 755 $environment $work/fanin_nccl/lib/env
install -m 755 $doctor $work/fanin_nccl/bin
strip --strip-unneeded $work/fanin_nccl/lib/*.so $work/fanin_nccl/lib/env/*.so $work/fanin_nccl/bin/*
log=build/wheel/build.log
if ! python3 -m pip wheel --quiet --no-deps --disable-pip-version-check --wheel-dir build/wheel $work > $log 2>&1; then
  cat $log >&2
  exit 1
fi
rm -rf $work
ls build/wheel/*.whl
