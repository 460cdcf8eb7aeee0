#!/bin/sh
# deb.sh: builds the Debian packages of this tree into build/deb/. What is packaged is what `make install` installs.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/.*kFaninVersion = "\(.*\)".*/\1/p' include/fanin/version.h)
work=build/deb/fanin-$version
rm -rf build/deb
mkdir -p "$work"
cp -r deploy/debian "$work/debian"
cp deploy/systemd/fanin-reducer.service "$work/debian/fanin-reducer.service"
date=$(git log -1 --format=%cD 2>/dev/null || date -R)
printf 'fanin (%s) bookworm; urgency=medium\n\n  * Built from the source tree: its git log says what changed.\n\n -- fanin developers <maintainers@fanin.example.org>  %s\n' \
  "$version" "$date" > "$work/debian/changelog"
log=build/deb/build.log
FANIN_SOURCE=$PWD
export FANIN_SOURCE
# The packages' time stamps are the commit's.
if ! (cd "$work" && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage --build=binary --no-sign --no-check-builddeps) > "$log" 2>&1; then
  tail -30 "$log" >&2
  echo "deb.sh: dpkg-buildpackage failed; the whole log is $log" >&2
  exit 1
fi
rm -rf "$work"
ls build/deb/*.deb
