#!/bin/sh
# run.sh SECONDS FOLDER TARGET…: runs each libFuzzer target in FOLDER for SECONDS, from the seed corpus in the tree and what
# earlier runs found (build/fuzz-corpus). An input that crashes a target is left in build/fuzz-crashes and ends with status 1.
# FUZZ_FLAGS are handed on.
set -u
seconds=$1 folder=$2
shift 2
crashes=build/fuzz-crashes failed=0
for target in "$@"; do
  found=${FUZZ_CORPUS:-build/fuzz-corpus}/$target
  mkdir -p "$found" "$crashes"
  log=$found.log
  echo "fuzz: $target for $seconds s"
  # shellcheck disable=SC2086 # flags are meant to split
  if ! "$folder/$target" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -dict="tests/fuzz/dict/$target.dict" -artifact_prefix="$crashes/$target-" ${FUZZ_FLAGS:-} \
    "$found" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
    failed=1
    grep -v '^#' "$log" | tail -60
    echo "fuzz: $target failed; its input is in $crashes, its output in $log"
  fi
  sed -n 's/^stat::number_of_executed_units: */fuzz:   executions: /p; s/^Done .* in .* second/fuzz:   &/p' "$log" | head -1
done
[ "$failed" = 0 ] && echo "fuzz: no findings"
exit "$failed"
