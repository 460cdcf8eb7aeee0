#!/usr/bin/env python3
"""Where the time goes, as two tables in perf/profile/table.md: `make profile`.

1. Instructions per MB in user space, by callgrind: exact and the same on every machine of a kind, blind to the kernel. Two runs of
   different length are compared, so that starting and connecting cancel out. Valgrind knows no AVX-512, so sums run at AVX2. Waiting
   counts: an I/O thread polls a while before it sleeps, and under valgrind, where threads take turns, it waits long. A long memmove
   (rep movsb) counts an instruction a byte: libc's line is mostly bytes of results that LaneReceiver moved to their place.
2. Shares of CPU time with the kernel, by perf's clock samples (root, or kernel.perf_event_paranoid <= 1), by thread.

The work is fanin-perf on loopback, 2 ranks and 1 reducer. MB are 10^6 bytes of one rank's buffer, of each rank.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../suite"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lab"))
import machine  # noqa: E402
import table  # noqa: E402
from ending import run_tool  # noqa: E402

RANKS, SIZE = 2, 4 << 20
# The first that fits names the group of a function.
USER_GROUPS = [
    ("sum", r"fanin::N_\w+::|reduce_range|hwy::"),
    ("reducer: read and write", r"fanin::reducer::Member"),
    ("reducer: blocks, sessions, loop", r"fanin::reducer::|fanin::Reducer"),
    ("worker: send", r"collnet::LaneSender"),
    ("worker: receive", r"collnet::LaneReceiver"),
    ("worker: requests, plan, threads", r"fanin::plugin::"),
    ("transport: epoll, sockets, deadlines", r"fanin::(tcp::|Epoll|Wake|Deadline|Stream|transport)"),
    ("harness (fanin-perf, counting)", r"fanin::perf::|^(read|write|recv|send|poll|epoll)\w*$"),
    ("libc, libstdc++", r""),
]
KERNEL_GROUPS = [
    ("kernel: copying", r"_copy_(to|from)_iter|copy_user|copy_page|rep_movs|memcpy|csum"),
    ("kernel: memory for packets", r"skb|kmem_cache|kfree|kmalloc|alloc|page_frag|free_"),
    ("kernel: TCP/IP, loopback", r"tcp|^ip_|^ip6|inet|loopback|netif|net_rx|dev_|sock|nf_|__list_del|softirq|napi|backlog"),
    ("kernel: wake and switch", r"sched|switch|wake|futex|ep_|epoll|poll|enqueue|dequeue|update_|pick_|spin|nanosleep|hrtimer|tsc|clock"),
    ("kernel: other", r""),
]
THREADS = [("reducer", r"fanin-lane"), ("worker I/O thread", r"fanin-io"), ("progress thread, start", r"")]


def group_of(groups, name):
    return next(group for group, pattern in groups if re.search(pattern, name))


def fanin_perf(build, iters, prefix=()):
    env = {**os.environ, "NCCL_SOCKET_IFNAME": "lo"}
    subprocess.run(list(prefix) + [os.path.join(build, "bin/fanin-perf"), "-n", str(RANKS), "-r", "1", "-b", str(SIZE), "-e", str(SIZE), "-i",
                                   str(iters), "-w", "1", "-c", "0", "--crowded", "--timeout", "600"], env=env, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def parse_callgrind(text):
    """Own instructions by function, from callgrind_annotate's list."""
    counts = collections.Counter()
    for line in text.splitlines():
        m = re.match(r"\s*([\d,]+) \([ \d.]+%\)\s+(\S+?):(.+?)(?: \[.*\])?$", line)
        if m and m[3].strip():
            counts[m[3].strip()] += int(m[1].replace(",", ""))
    return counts


def count_instructions(build, iters):
    with tempfile.TemporaryDirectory(prefix="fanin-profile.") as folder:
        fanin_perf(build, iters, ["valgrind", "--tool=callgrind", "--trace-children=yes", f"--callgrind-out-file={folder}/out.%p"])
        counts = collections.Counter()
        for name in sorted(os.listdir(folder)):
            text = subprocess.run(["callgrind_annotate", "--threshold=100", "--show-percs=yes", os.path.join(folder, name)],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
            for function, n in parse_callgrind(text).items():
                counts[group_of(USER_GROUPS, function)] += n
        return counts


def instruction_rows(build, short=4, long=20):
    few, many = count_instructions(build, short), count_instructions(build, long)
    megabytes = (long - short) * SIZE / 1e6 * RANKS
    rows = [[g, f"{(many[g] - few[g]) / megabytes:.0f}"] for g, _ in USER_GROUPS]
    return ["function group", "instructions per MB"], rows + [["all", f"{(sum(many.values()) - sum(few.values())) / megabytes:.0f}"]]


def parse_perf(text):
    """[(thread, shared object, function, share)] from perf report."""
    rows = []
    for line in text.splitlines():
        m = re.match(r"\s*([\d.]+)%\s+(\S+)\s+(\S+)\s+\[(.)\] (\S.*?)(?:\s{2,}.*)?$", line)
        if m:
            rows.append((m[2], m[3], m[5].strip(), float(m[1])))
    return rows


def time_rows(build):
    with tempfile.TemporaryDirectory(prefix="fanin-profile.") as folder:
        data = os.path.join(folder, "data")
        fanin_perf(build, 400, ["perf", "record", "-q", "-e", "cpu-clock", "-F", "2000", "-o", data])
        text = subprocess.run(["perf", "report", "-i", data, "--stdio", "--sort", "comm,dso,symbol"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=True).stdout
    shares = collections.Counter()
    for thread, dso, function, share in parse_perf(text):
        groups = KERNEL_GROUPS if dso.startswith("[kernel") else USER_GROUPS
        shares[group_of(THREADS, thread), group_of(groups, function)] += share
    names = [t for t, _ in THREADS]
    rows = []
    for group, _ in KERNEL_GROUPS + USER_GROUPS:
        cells = [shares[t, group] for t in names]
        if sum(cells) >= .05:
            rows.append([group] + [f"{c:.1f}" for c in cells])
    rows.append(["all"] + [f"{sum(v for (t, _), v in shares.items() if t == name):.1f}" for name in names])
    return ["share of CPU time, %"] + names, rows


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--build", default="build")
    here = os.path.dirname(os.path.abspath(__file__))
    args.add_argument("--out", default=os.path.join(here, "table.md"))
    o = args.parse_args()
    open(o.out, "a").close()  # cannot be written? Found out now, not after minutes
    parts = ["# Where the time goes\n\nMade by `make profile`; how: the head of [profile.py](profile.py).\n\n" + table.facts_line(
        {**machine.facts(here), "seconds": 0}).replace("; 0 s.", ".") + f" {RANKS} ranks, 1 reducer, {SIZE >> 20} MiB all-reduces on loopback."]
    for title, tool, rows in (("Instructions per MB in user space (callgrind)", "valgrind", instruction_rows),
                              ("CPU time, with the kernel (perf, clock samples)", "perf", time_rows)):
        if shutil.which(tool):
            header, body = rows(o.build)
            parts.append(f"## {title}\n\n" + "\n".join(["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)] +
                                                      ["| " + " | ".join(r) + " |" for r in body]))
        else:
            parts.append(f"## {title}\n\nNot measured: no {tool} on this machine.")
    print("\n\n".join(parts), flush=True)
    with open(o.out, "w") as f:
        f.write("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    run_tool("profile.py", main)
