#!/bin/sh
# make bench: fanin-perf over reducers and over the ring on this machine's loopback, in interleaved rounds so that a
# noisy neighbour hits both. bench.sh BUILD [ROUNDS]. Results in build/bench/*.json, one table on stdout.
set -eu
build=${1:-build}
rounds=${2:-3}
perf=$build/bin/fanin-perf
out=$build/bench
reducers=2
rm -rf "$out"
mkdir -p "$out"
export NCCL_SOCKET_IFNAME=lo
unset FANIN_REDUCERS
echo "fanin against the ring on this machine's loopback: $(nproc) cores, $reducers reducers, $rounds rounds."

round=1
while [ "$round" -le "$rounds" ]; do
  # Every element is checked once; the other rounds only time.
  check=$((round == 1))
  for ranks in 2 5; do
    for algo in fanin ring; do
      pool=""
      [ "$algo" = ring ] || pool="-r $reducers"
      for sizes in "-b 64K -e 64K -i 40 -w 5" "-b 1M -e 4M -i 8 -w 2" "-b 16M -e 64M -i 3 -w 1"; do
        file=$out/$algo-n$ranks-$(echo "$sizes" | cut -d' ' -f2)-round$round.json
        [ ! -t 2 ] || printf '\r\033[Kround %s of %s: %s, %s ranks, %s' "$round" "$rounds" "$algo" "$ranks" "$sizes" >&2
        # shellcheck disable=SC2086 # options are words
        "$perf" -n "$ranks" --algo "$algo" $pool $sizes -c "$check" --json "$file" >"$out/last.txt" 2>&1 || {
          cat "$out/last.txt"
          exit 1
        }
      done
    done
  done
  round=$((round + 1))
done
[ ! -t 2 ] || printf '\r\033[K' >&2
rm -f "$out/last.txt"
python3 "$(dirname "$0")/bench_table.py" "$out"
cat <<'END'
Loopback has no link to fill: both sides are bound by this machine's cores, which here do the reducers' work, every
rank's and, for the ring, the sums a GPU would do. The ratio says what each costs in CPU time, not which is faster on a
network; there the links decide (perf/lab/lab.py shapes some).
END
