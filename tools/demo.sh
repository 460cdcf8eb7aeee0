#!/bin/bash
# The main job on one machine, as `make demo` runs it: builds, starts 5 reducers on loopback and lets the unmodified
# NCCL all-reduce through them as 5 nodes x 2 GPUs, on a device made of CPU memory and threads. Where NCCL or the CPU device
# cannot be had, fanin-perf drives the plugin instead. Exit status 0: every element of every result was right and
# went through the reducers. Leaves no process and no file outside build/.
set -u
cd "$(dirname "$0")/.." || exit 1
nodes=5 gpus=2 reducers=5
B=build
pids=() names=() bench=""
tmp=$(mktemp -d "${TMPDIR:-/tmp}/fanin-demo.XXXXXX") || exit 1
: >"$tmp/started"

# Ends what this script started, by pid; waits, so that nothing outlives it.
cleanup() {
  trap '' INT TERM
  local all=("${pids[@]}")
  [ -z "$bench" ] || all+=("$bench")
  [ ${#all[@]} = 0 ] || kill -TERM "${all[@]}" 2>/dev/null
  for _ in $(seq 100); do
    [ ${#all[@]} = 0 ] || kill -0 "${all[@]}" 2>/dev/null || break
    [ ${#all[@]} = 0 ] && break
    sleep 0.1
  done
  [ ${#all[@]} = 0 ] || kill -KILL "${all[@]}" 2>/dev/null
  wait
  drop_shared_memory
  rm -rf "$tmp"
}

# A run cut off while NCCL sets up leaves NCCL's shared memory behind: ours is what appeared since and nobody maps.
drop_shared_memory() {
  local f
  while read -r f; do
    grep -qs "$f" /proc/[0-9]*/maps || rm -f "$f"
  done < <(find /dev/shm -maxdepth 1 -name 'nccl-*' -user "$(id -u)" -newer "$tmp/started" 2>/dev/null)
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '%s\n' "$*"; }
fail() {
  say "FAILED: $*" >&2
  exit 1
}

build() {
  mkdir -p $B
  local log=$B/demo-build.log steps
  steps=$(make -n "$@" 2>/dev/null | grep -cE '^echo "(  [A-Z]|link)')
  [ "$steps" = 0 ] || say "Building ($steps steps; the first time takes some minutes, the log is $log) ..."
  make --no-print-directory -j"$(nproc)" "$@" >$log 2>&1 &
  bench=$!
  # Not a word for minutes looks like a hang: twice a second on a terminal, else twice a minute.
  local every=60 ready
  [ ! -t 1 ] || every=1
  for ((i = 1; ; i++)); do
    sleep 0.5
    kill -0 $bench 2>/dev/null || break
    ((i % every == 0)) || continue
    ready=$(grep -cE '^(  [A-Z]|link)' $log)
    if [ -t 1 ]; then printf '\r  %d of %d ' "$ready" "$steps"; else say "  $ready of $steps"; fi
  done
  [ ! -t 1 ] || printf '\r              \r'
  wait $bench
  local rc=$?
  bench=""
  [ $rc != 0 ] || return 0
  tail -20 $log >&2
  fail "the build; see above and $log"
}

start_reducers() {
  for ((i = 0; i < reducers; i++)); do
    $B/bin/fanin-reducer --listen 127.0.0.1:0 --lanes 1 --memory 256M --port-file "$tmp/port$i" 2>"$tmp/reducer$i" &
    pids+=($!)
  done
  for ((i = 0; i < reducers; i++)); do
    for _ in $(seq 200); do
      [ -s "$tmp/port$i" ] && break
      kill -0 "${pids[$i]}" 2>/dev/null || break
      sleep 0.1
    done
    [ -s "$tmp/port$i" ] || { cat "$tmp/reducer$i" >&2; fail "reducer $i did not start"; }
    names+=("127.0.0.1:$(cat "$tmp/port$i")")
  done
}

# Drains the reducers and prints what each says it summed, as "name bytes" lines into $tmp/summed.
stop_reducers() {
  kill -TERM "${pids[@]}" 2>/dev/null
  for ((i = 0; i < reducers; i++)); do
    wait "${pids[$i]}" || { cat "$tmp/reducer$i" >&2; fail "reducer ${names[$i]} did not drain"; }
    say "${names[$i]} $(sed -n 's/.* \([0-9][0-9]*\) bytes summed.*/\1/p' "$tmp/reducer$i" | tail -1)"
  done >"$tmp/summed"
  pids=()
}

with_fanin_perf() {
  say "fanin-perf drives the plugin's functions as NCCL would, $nodes ranks through $reducers reducers:"
  say
  $B/bin/fanin-perf -n $nodes -r $reducers -b 1K -e 16M -f 4 -i 5 -w 1 -c 1 &
  bench=$!
  wait $bench
  local rc=$?
  bench=""
  [ $rc = 0 ] || fail "fanin-perf ended with $rc"
  say
  say "OK (without NCCL)"
  exit 0
}

with_nccl() {
  start_reducers
  say
  say "$reducers reducers run: ${names[*]}"
  say "Now NCCL's all-reduce as $nodes nodes x $gpus GPUs, every element of every result checked."
  say "(The GPUs are CPU memory and threads on this machine's $(nproc) cores: the results count, the speed says nothing.)"
  say
  # A user's own settings are no part of this.
  local name list
  for name in $(compgen -e | grep -E '^(NCCL|FANIN|CPUDEV)_'); do unset "$name"; done
  list=$(IFS=,; echo "${names[*]}")
  # What a job sets to use fanin: the first three. The rest is for many ranks on one small machine, and for the log below.
  FANIN_REDUCERS=$list NCCL_NET_PLUGIN=fanin NCCL_COLLNET_ENABLE=1 \
    LD_LIBRARY_PATH=$PWD/$B/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
    NCCL_SOCKET_IFNAME=lo NCCL_LL_BUFFSIZE=65536 NCCL_LL128_BUFFSIZE=65536 \
    NCCL_DEBUG=INFO NCCL_DEBUG_FILE="$tmp/nccl.%p" LD_PRELOAD=$PWD/$B/cpudev/libcpudev.so \
    $B/bin/fanin-nccl-perf --nodes $nodes --gpus $gpus -b 1K -e 16M -f 4 -n 5 -w 1 -T 120 &
  bench=$!
  wait $bench
  local rc=$?
  bench=""
  if [ $rc != 0 ]; then
    grep -h WARN "$tmp"/nccl.* 2>/dev/null | tail -10 >&2
    [ $rc = 1 ] && fail "wrong results"
    fail "fanin-nccl-perf ended with $rc"
  fi
  stop_reducers
  show_nccl_log
  show_sums
  say
  say "OK: every element was right, and NCCL summed between nodes in the reducers"
}

# NCCL's own lines, each once, without host, process and thread.
show_nccl_log() {
  cat "$tmp"/nccl.* | sed -n 's/^.* NCCL INFO //p' >"$tmp/info"
  say
  say "From NCCL's log (NCCL_DEBUG=INFO):"
  local pattern
  for pattern in 'Loaded collnet plugin fanin' '^Using network fanin' 'collnet channels' 'Connected Collnet Chains' \
    'via COLLNET/fanin' 'fanin : rank 0 of .* uses'; do
    grep -m 1 -e "$pattern" "$tmp/info" | fold -s -w 118 | sed '1s/^/  /; 1!s/^/      /'
  done
  grep -q 'via COLLNET/fanin' "$tmp/info" || fail "NCCL set up no CollNet channel over fanin"
}

show_sums() {
  say
  say "Bytes summed per reducer:"
  awk '{ printf "  %-22s %14d\n", $1, $2; total += $2; if ($2 == 0) idle = 1 }
       END { printf "  %-22s %14d\n", "together", total; exit idle }' "$tmp/summed" || fail "a reducer summed nothing"
}

# Says which NCCL it is, fetches the tested release where none is installed, or says why that cannot be.
if tools/nccl.sh; then
  build all cpudev
  with_nccl
else
  say "So this runs without the real NCCL."
  build all
  with_fanin_perf
fi
