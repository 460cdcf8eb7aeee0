#!/usr/bin/env python3
"""The table of perf/bench.sh from its JSON files: per ranks and size the best round's median of each side, and their ratio."""
import collections
import glob
import json
import os
import sys


def main():
    runs = collections.defaultdict(list)  # (ranks, bytes, algo) -> results, one a round
    for path in glob.glob(os.path.join(sys.argv[1], "*-round*.json")):
        with open(path) as file:
            run = json.load(file)
        for result in run["results"]:
            runs[run["ranks"], result["bytes"], run["algo"]].append(result)
    print(f"{'ranks':>5} {'size':>10} | {'fanin us':>10} {'GB/s':>7} {'CPU s/GB':>9} {'calls/MB':>9} | "
          f"{'ring us':>10} {'GB/s':>7} {'CPU s/GB':>9} {'calls/MB':>9} | {'ring/fanin':>10} {'wrong':>6}")
    for ranks, size in sorted({key[:2] for key in runs}):
        cells, best = [], {}
        for algo in ("fanin", "ring"):
            results = runs[ranks, size, algo]
            best[algo] = min(r["time_us"]["median"] for r in results)
            # All processes' CPU time per GB of one rank's buffer.
            moved = sum(r["bytes"] * r["cpu_s"]["elapsed"] / (r["time_us"]["mean"] * 1e-6) for r in results) / 1e9
            cpu = sum(r["cpu_s"]["workers"] + (r["cpu_s"]["reducers"] or 0) for r in results) / moved
            calls = [(r["syscalls_per_MB"]["workers"] or 0) + (r["syscalls_per_MB"]["reducers"] or 0) for r in results]
            cells.append(f"{best[algo]:>10.1f} {size / best[algo] / 1e3:>7.3f} {cpu:>9.2f} {min(calls):>9.1f}")
        wrong = sum(r["wrong"] or 0 for algo in ("fanin", "ring") for r in runs[ranks, size, algo])
        print(f"{ranks:>5} {size:>10} | {cells[0]} | {cells[1]} | {best['ring'] / best['fanin']:>10.2f} {wrong:>6}")
    print("us: the best round's median. CPU: all processes, per GB of one rank's buffer, over all rounds (polling included).")
    print("calls: system calls for I/O per MB and rank. ring/fanin above 1: fanin is faster.")


main()
