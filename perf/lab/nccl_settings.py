#!/usr/bin/env python3
"""The real NCCL (on the CPU device) in the lab under several settings, interleaved: what docs/performance.md, "Crossover" and
"Chunk sizes", was made with.

    nccl_settings.py --build build --rate 500mbit --sizes 1K:1M:4 --rounds 3 --iters 10 \\
        ring=NCCL_COLLNET_ENABLE=0 fanin=NCCL_ALGO=CollnetDirect 'tuner='

A setting is a name and variables after commas; `-R` among them registers the buffers, `chunk=BYTES` has NCCL 2.30 and later use chunks of that
size (chunk_tuner.c in place of fanin's tuner). Prints medians of microseconds per size, and what the tuner said. Another NCCL than the one
it was built with: LD_LIBRARY_PATH. Needs root, and `make bench-programs` first.
"""
import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab_bench  # noqa: E402
from ending import run_tool  # noqa: E402
from lab import Lab  # noqa: E402


def chunk_tuner(folder):
    here = os.path.dirname(os.path.abspath(__file__))
    library = f"{folder}/chunk_tuner.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-I", f"{here}/../../include", "-o", library, f"{here}/chunk_tuner.c"], check=True)
    return library


def last_words(scratch, name):
    """What the ranks and their NCCL said."""
    said = ""
    for log in ["errors"] + sorted(f for f in os.listdir(scratch) if f.startswith(f"log.{name}.")):
        with open(f"{scratch}/{log}", errors="replace") as f:
            said += f.read()[-1500:]
    return said


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--rate", default="500mbit")
    p.add_argument("--workers", type=lab_bench.positive, default=5)
    p.add_argument("--reducers", type=lab_bench.positive, default=5)
    p.add_argument("--sizes", default="1K:1M:4", help="least:largest:factor")
    p.add_argument("--rounds", type=lab_bench.positive, default=3)
    p.add_argument("--iters", type=lab_bench.positive, default=10)
    p.add_argument("settings", nargs="+")
    a = p.parse_args()
    build = a.build = os.path.abspath(a.build)
    a.lanes = 1
    lab_bench.check(a, "bin/fanin-nccl-perf", "bin/fanin-reducer", "lib/libnccl-net-fanin.so", "cpudev/libcpudev.so")
    if not re.fullmatch(r"\w+:\w+:\d+", a.sizes):
        raise ValueError(f"--sizes: '{a.sizes}' is not least:largest:factor, as 1K:1M:4")
    least, largest, factor = a.sizes.split(":")
    for setting in a.settings:
        if not re.fullmatch(r"[\w.-]+=((-R|\w+=[^,]*)(,(-R|\w+=[^,]*))*)?", setting):
            raise ValueError(f"'{setting}' is not NAME=VARIABLE=VALUE,... (NAME= alone: nothing set)")
    load = os.getloadavg()[0]
    times, said = {}, {}
    with tempfile.TemporaryDirectory(prefix="fanin-lab.") as scratch, Lab(a.workers, a.reducers, a.rate) as lab:
        tuner = chunk_tuner(scratch) if any("chunk=" in s for s in a.settings) else None
        lab_bench.start_reducers(lab, a, scratch)
        pool = [f"{lab.ip(host)}:{lab_bench.PORT}" for host in lab.reducers]
        for round_no in range(a.rounds):
            for setting in a.settings:
                name, _, words = setting.partition("=")
                words = [w for w in words.split(",") if w]
                env = dict(os.environ, LD_PRELOAD=f"{build}/cpudev/libcpudev.so", NCCL_SOCKET_IFNAME="eth0",
                           NCCL_NET_PLUGIN=f"{build}/lib/libnccl-net-fanin.so", NCCL_COLLNET_ENABLE="1", FANIN_REDUCERS=",".join(pool),
                           NCCL_LL_BUFFSIZE="65536", NCCL_LL128_BUFFSIZE="65536", NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,TUNING",
                           NCCL_DEBUG_FILE=f"{scratch}/log.{name}.{round_no}.%p", WORLD_SIZE=str(a.workers), LOCAL_RANK="0",
                           MASTER_ADDR=lab.ip("w0"), MASTER_PORT=str(random.randrange(20000, 30000)))
                for key, value in (w.split("=", 1) for w in words if "=" in w):
                    env.update({"LAB_CHUNK": value, "NCCL_TUNER_PLUGIN": tuner} if key == "chunk" else {key: value})
                out = f"{scratch}/result"
                ranks, errors = [], open(f"{scratch}/errors", "w")
                for i, host in enumerate(lab.workers):
                    command = [f"{build}/bin/fanin-nccl-perf", "-b", least, "-e", largest, "-f", factor, "-n", str(a.iters), "-w", "2", "-c",
                               "0", "-T", "60"] + (["-R", "1"] if "-R" in words else []) + (["-J", out] if i == 0 else [])
                    ranks.append(lab.start(host, command, env=dict(env, NCCL_HOSTID=f"node{i}", RANK=str(i)),
                                           stdout=subprocess.DEVNULL, stderr=errors))
                if any([r.wait(150) for r in ranks]):
                    raise RuntimeError(f"{setting} failed: {last_words(scratch, name)}")
                for row in json.load(open(out))["results"]:
                    for half in ("out_of_place", "in_place"):
                        times.setdefault(row["size"], {}).setdefault(name, []).append(row[half]["time"])
                for log in os.listdir(scratch):
                    if log.startswith(f"log.{name}.{round_no}."):
                        for line in re.findall(r"fanin : (tuner: .*)", open(f"{scratch}/{log}").read()):
                            said.setdefault(name, {}).setdefault(line, 0)
                            said[name][line] += 1
    names = [s.partition("=")[0] for s in a.settings]
    print(f"{a.workers} workers, {a.reducers} reducers, {a.rate}, {a.rounds} rounds, load {load:.1f} before; microseconds, median (least-most)")
    print("size".rjust(10), *(n.rjust(24) for n in names))
    for size, by_name in sorted(times.items()):
        cells = [f"{statistics.median(t):.0f} ({min(t):.0f}-{max(t):.0f})" for t in (by_name[n] for n in names)]
        print(str(size).rjust(10), *(c.rjust(24) for c in cells))
    for name, lines in said.items():
        for line, count in lines.items():
            print(f"{name}, {count} ranks: {line}")


if __name__ == "__main__":
    run_tool("nccl_settings.py", main)
