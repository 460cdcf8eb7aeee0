#!/bin/sh
# Makes sure the Debian packages are there that a target needs: deps.sh build|test|demo|bench|peers|browser|profile|lint|fuzz|deb|wheel
# Installs them as root (or through sudo without a password); otherwise prints the exact line and fails.
set -eu
cd "$(dirname "$0")/.."
build="g++ make nlohmann-json3-dev libcli11-dev libhwy-dev libhwloc-dev libsodium-dev libxxhash-dev pkg-config"
deb="debhelper dpkg-dev help2man lintian"
wheel="binutils python3 python3-pip python3-venv"
case "${1:-build}" in
  build) want=$build ;;
  demo)
    want="$build python3"
    # Where no NCCL is installed, tools/nccl.sh fetches one with pip.
    tools/nccl.sh check || python3 -m pip --version >/dev/null 2>&1 || want="$want python3-pip"
    ;;
  test) want="$build $deb $wheel buildah debootstrap duktape iproute2 libbenchmark-dev libgtest-dev nftables python3-prometheus-client systemd" ;;
  bench)
    want="$build python3 libbenchmark-dev iproute2"
    # What fanin is compared with is optional and large.
    for peer in libgloo-dev libopenmpi-dev; do
      dpkg-query -W "$peer" >/dev/null 2>&1 || echo "deps.sh: $peer is not installed, that comparison will be left out; tools/deps.sh peers installs it"
    done
    ;;
  peers) want="libgloo-dev openmpi-bin libopenmpi-dev" ;;
  browser) want="$build python3 chromium-headless-shell fonts-dejavu-core" ;;
  profile) want="$build python3 valgrind" ;;
  lint) want="$build clang-format cppcheck shellcheck clang" ;;
  fuzz) want="$build clang libclang-rt-dev" ;;
  deb) want="$build $deb" ;;
  wheel) want="$build $wheel" ;;
  *) echo "deps.sh: unknown target '$1': build, test, demo, bench, peers, browser, profile, lint, fuzz, deb or wheel" >&2; exit 2 ;;
esac
missing=""
for package in $want; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
line="apt-get install -y --no-install-recommends$missing"
if ! command -v apt-get >/dev/null 2>&1; then
  echo "fanin needs these packages (names as in Debian 12):$missing" >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then as_root=""
elif sudo -n true 2>/dev/null; then as_root="sudo"
else
  echo "fanin needs more packages; run: sudo $line" >&2
  exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # words are meant to split
$as_root $line >/dev/null 2>&1 || { $as_root apt-get update >/dev/null && $as_root $line >/dev/null; } || {
  echo "could not install; run: $line" >&2
  exit 1
}
