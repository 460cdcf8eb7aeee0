#!/usr/bin/env python3
"""Where the links of the lab stand idle while fanin-perf runs: what separates an iteration from the link's limit.

    sudo perf/lab/timeline.py --size 16M --rate 500mbit --iters 6

One table per run: for the links of two workers and two reducers, in both directions, how many milliseconds' worth of its rate a link
carried nothing in an iteration: before its first packet, between its packets, and after its last (iterations follow each other,
each counted from the first packet that leaves worker 0). An iteration takes what the link needs for its bytes plus one row's sum. With
--span N also bytes as a part of the rate, per millisecond, N milliseconds around the beginning of an iteration (mean over iterations).

Counters are read once in half a millisecond, from one process with a descriptor in each namespace: about 5 % of a core.
"""
import argparse
import bisect
import ctypes
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab_bench  # noqa: E402
from ending import run_tool  # noqa: E402
from lab import Lab, bits_per_second  # noqa: E402

HOSTS = ("w0", "w2", "r0", "r3")
NET_BYTES = 1448 / 1514  # of payload in what a link carries; the counters see a large packet's headers once


def open_counters(lab, host):
    """/proc/net/dev of the host's namespace: a descriptor stays that namespace's when this process leaves it again."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/var/run/netns/{lab.ns(host)}", os.O_RDONLY)

    def enter(ns):
        if libc.setns(ns, 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")

    enter(there)
    try:
        return os.open("/proc/thread-self/net/dev", os.O_RDONLY)
    finally:
        enter(home)
        os.close(home)
        os.close(there)


def parse(text):
    """(sent, received) by eth0."""
    fields = next(line for line in text.decode().splitlines() if line.strip().startswith("eth0:")).split(":")[1].split()
    return int(fields[8]), int(fields[0])


class Counts:
    """Bytes that one direction of one link had carried, by time."""

    def __init__(self, times, values):
        self.times, self.values = times, values

    def at(self, t):
        i = bisect.bisect(self.times, t)
        if i == 0 or i == len(self.times):
            return self.values[max(i - 1, 0)]
        t0, t1, a, b = self.times[i - 1], self.times[i], self.values[i - 1], self.values[i]
        return a + (b - a) * (t - t0) / (t1 - t0)

    def when(self, value):
        i = bisect.bisect_left(self.values, value)
        if i == 0 or i == len(self.values):
            return self.times[min(i, len(self.times) - 1)]
        t0, t1, a, b = self.times[i - 1], self.times[i], self.values[i - 1], self.values[i]
        return t0 + (t1 - t0) * (value - a) / (b - a)


def run(o, lab, folder):
    """Runs fanin-perf; returns {(host, way): Counts} and its result."""
    lab_bench.start_reducers(lab, o, folder)
    files = [open_counters(lab, h) for h in HOSTS]
    out = os.path.join(folder, "fanin.json")
    log = open(os.path.join(folder, "perf.log"), "w")
    ranks = [lab.start(host, ["env", "NCCL_SOCKET_IFNAME=eth0"] + lab_bench.command(lab, o, "fanin", o.size, o.iters) +
                       ["--rank", str(i)] + (["--json", out] if i == 0 else []), stdout=log, stderr=log)
             for i, host in enumerate(lab.workers)]
    raw = []
    while any(r.poll() is None for r in ranks):
        raw.append((time.monotonic(), [os.pread(f, 4096, 0) for f in files]))
        time.sleep(.0005)
    if any(r.returncode != 0 for r in ranks):
        with open(log.name) as f:
            raise RuntimeError("fanin-perf failed: " + f.read().strip()[-500:])
    times = [t for t, _ in raw]
    values = [[parse(x) for x in xs] for _, xs in raw]
    counts = {(h, way): Counts(times, [v[i][j] for v in values]) for i, h in enumerate(HOSTS) for j, way in enumerate(("out", "in"))}
    return counts, lab_bench.read_result(out)


def show(o, lab, counts):
    per = {k: (c.values[-1] - c.values[0]) / (o.iters + lab_bench.WARMUP) for k, c in counts.items()}
    quiet = .002  # of an iteration's bytes: acknowledgements and meetings

    def begins(key, i):
        return counts[key].when(counts[key].values[0] + (i + quiet) * per[key])

    def ends(key, i):
        return counts[key].when(counts[key].values[0] + (i + 1 - quiet) * per[key])

    lead = (HOSTS[0], "out")
    laps = range(lab_bench.WARMUP, lab_bench.WARMUP + o.iters - 1)
    need = lab_bench.parse_size(o.size) / NET_BYTES * 8 / lab.bps * 1e3
    print(f"link's time for the bytes {need:.1f} ms\n{'link':>8} {'before':>8} {'between':>8} {'after':>8}   ms, mean of {len(laps)} iterations")
    for host, way in counts:
        key, rows = (host, way), []
        for i in laps:
            zero, following = begins(lead, i), begins(lead, i + 1)
            first, last = begins(key, i), ends(key, i)
            rows.append(((first - zero) * 1e3, (last - first) * 1e3 - need * (1 - 2 * quiet), (following - last) * 1e3))
        print(f"{host + ' ' + way:>8} " + " ".join(f"{sum(c) / len(rows):8.1f}" for c in zip(*rows)))
    if not o.span:
        return
    print("\n" + f"{'ms':>6} " + " ".join(f"{h + ' ' + w:>8}" for h, w in counts))
    for ms in range(-o.span, o.span):
        share = [sum(c.at(begins(lead, i) + (ms + 1) / 1e3) - c.at(begins(lead, i) + ms / 1e3) for i in laps) / len(laps) for c in counts.values()]
        print(f"{ms:6d} " + " ".join(f"{x * 8e3 / lab.bps:8.2f}" for x in share))


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--build", default="build")
    args.add_argument("--rate", default="500mbit")
    args.add_argument("--size", default="16M")
    args.add_argument("--iters", type=lab_bench.positive, default=6)
    args.add_argument("--span", type=int, default=0)
    o = args.parse_args()
    o.build, o.lanes, o.workers = os.path.abspath(o.build), 1, 5
    lab_bench.check(o, "bin/fanin-perf", "bin/fanin-reducer")
    bits_per_second(o.rate)
    lab_bench.parse_size(o.size)
    if o.iters < 2:
        raise ValueError("--iters: at least 2, the last iteration is not counted")
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="fanin-timeline.") as folder, Lab(o.workers, 5, o.rate) as lab:
        counts, result = run(o, lab, folder)
        print(f"# {o.size} at {o.rate}: algbw/link {result['algbw_GBps'] * 8e9 / lab.bps:.3f}, mean {result['time_us']['mean'] / 1e3:.1f} ms, "
              f"{lab.retransmits()} retransmits in all, load {load:.1f} before")
        show(o, lab, counts)


if __name__ == "__main__":
    run_tool("timeline.py", main)
