#!/usr/bin/env python3
"""fanin against a ring over fanin's own point-to-point net, each host in its own namespace behind a shaped link (lab.py).

    sudo perf/lab/lab_bench.py --build build --workers 5 --reducers 5 --rate 500mbit --sizes 16M,64M --rounds 5

Rounds alternate between the two, so that both see the same machine; the table gives the median over rounds of the
algorithm bandwidth as a part of the link rate, and the spread. A ring of n workers cannot pass n/(2(n-1)) of it, reducers
can reach 1, both less the headers of Ethernet, IP and TCP (5.4 % at MTU 1500).
"""
import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ending import run_tool  # noqa: E402
from lab import Lab, bits_per_second  # noqa: E402

PORT = 4000
WARMUP = 2


def parse_size(text):
    m = re.fullmatch(r"([0-9]+)([KMG]?)", text)
    if not m or int(m[1]) == 0:
        raise ValueError(f"'{text}' is not a size: bytes, or a number with K, M or G")
    return int(m[1]) * {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[m[2]]


def positive(text):
    """An option's whole number from 1."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1")
    return int(text)


def check(options, *programs):
    """What would otherwise be found out in the middle."""
    for program in programs:
        path = os.path.join(options.build, program)
        if not os.path.exists(path):
            raise ValueError(f"{path} is not there: make bench-programs builds it, --build says where")


def command(lab, options, algo, size, iters):
    """fanin-perf on one worker, but for --rank."""
    line = [os.path.join(options.build, "bin/fanin-perf"), "--nranks", str(options.workers), "--rendezvous", f"{lab.ip('w0')}:{PORT}",
            "--algo", algo, "-b", size, "-e", size, "-i", str(iters), "-w", str(WARMUP), "-c", "0"]
    # Each host has cores of its own in reality: here their idle polling must not take the others' time.
    if options.workers > (os.cpu_count() or 1):
        line.append("--crowded")
    if algo == "fanin":
        line += ["--reducers", ",".join(f"{lab.ip(r)}:{PORT}" for r in lab.reducers)]
    return line


def read_result(path):
    with open(path) as f:
        return json.load(f)["results"][0]


def run_round(lab, options, algo, size, folder):
    """One run of fanin-perf on all workers; returns rank 0's JSON of that size."""
    out = os.path.join(folder, f"{algo}.json")
    # about a second and a half of traffic at the link's rate
    common = command(lab, options, algo, size, max(3, min(200, int(1.5 * lab.bps / 8 / parse_size(size)))))
    ranks = []
    for i, host in enumerate(lab.workers):
        log = open(os.path.join(folder, f"{algo}.{i}.log"), "w")
        ranks.append(lab.start(host, ["env", "NCCL_SOCKET_IFNAME=eth0"] + common + ["--rank", str(i)] +
                               (["--json", out] if i == 0 else []), stdout=log, stderr=log))
    failed = [i for i, rank in enumerate(ranks) if rank.wait(timeout=300) != 0]
    if failed:
        with open(os.path.join(folder, f"{algo}.{failed[0]}.log")) as log:
            raise RuntimeError(f"{algo}: rank {failed[0]} failed: {log.read().strip()}")
    return read_result(out)


def start_reducers(lab, options, folder):
    started, ready = [], [os.path.join(folder, f"port{r}") for r in lab.reducers]
    for reducer, port_file in zip(lab.reducers, ready):
        log = open(os.path.join(folder, f"{reducer}.log"), "w")
        child = lab.start(reducer, [os.path.join(options.build, "bin/fanin-reducer"), "--listen", f"{lab.ip(reducer)}:{PORT}",
                                    "--lanes", str(options.lanes), "--port-file", port_file], stdout=log, stderr=log)
        started.append((child, log.name))
    while not all(os.path.exists(p) for p in ready):
        for child, log in started:
            if child.poll() is not None:
                with open(log, errors="replace") as f:
                    raise RuntimeError(f"a reducer ended at once: {f.read().strip()[-500:]}")
        time.sleep(.01)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--build", default="build")
    args.add_argument("--workers", type=positive, default=5)
    args.add_argument("--reducers", type=positive, default=5)
    args.add_argument("--lanes", type=positive, default=1, help="per reducer")
    args.add_argument("--rate", default="500mbit")
    args.add_argument("--sizes", default="16M,64M")
    args.add_argument("--rounds", type=positive, default=5)
    args.add_argument("--algos", default="fanin,ring")
    args.add_argument("--json", help="write every round's figures into this file")
    options = args.parse_args()
    options.build = os.path.abspath(options.build)
    check(options, "bin/fanin-perf", "bin/fanin-reducer")
    bits_per_second(options.rate)
    for size in options.sizes.split(","):
        parse_size(size)
    if options.json:
        open(options.json, "a").close()  # cannot be written? Found out now, not after the run
    algos = options.algos.split(",")
    print(f"# {options.workers} workers, {options.reducers} reducers x {options.lanes} lanes, links of {options.rate}, "
          f"{options.rounds} interleaved rounds, load {os.getloadavg()[0]:.1f}")
    print(f"# {'size':>6} {'algo':>6} {'algbw/link':>11} {'min':>6} {'max':>6} {'retransmits':>12}")
    rows = []
    with tempfile.TemporaryDirectory(prefix="fanin-lab.") as folder, \
            Lab(options.workers, options.reducers, options.rate) as lab:
        start_reducers(lab, options, folder)
        for size in options.sizes.split(","):
            ratio = {a: [] for a in algos}
            resent = {a: 0 for a in algos}
            for _ in range(options.rounds):
                for algo in algos:
                    before = lab.retransmits()
                    result = run_round(lab, options, algo, size, folder)
                    resent[algo] += lab.retransmits() - before
                    ratio[algo].append(result["algbw_GBps"] * 8e9 / lab.bps)
                    rows.append({"size": size, "algo": algo, "rate": options.rate, "ratio": ratio[algo][-1], **result})
            for algo in algos:
                r = ratio[algo]
                print(f"  {size:>6} {algo:>6} {statistics.median(r):11.3f} {min(r):6.3f} {max(r):6.3f} {resent[algo]:12d}",
                      flush=True)
    if options.json:
        with open(options.json, "w") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    run_tool("lab_bench.py", main)
