"""nccl-lab: the real NCCL on the CPU device of tests/nccl, a node per host of the lab: CollNet over fanin, and NCCL's ring over
fanin's point-to-point net and over NCCL's own sockets. And the two rings on unshaped loopback."""
import json
import os
import random

from context import Failed
import peers

NAME = "nccl-lab"
RATE, NODES = "500mbit", 5
# (smallest, largest, factor, operations): 1M and 16M share a run.
SIZES = [(1 << 20, 16 << 20, 16, 3), (64 << 20, 64 << 20, 2, 1)]
LABELS = {1 << 20: "1M", 16 << 20: "16M", 64 << 20: "64M", 64 << 10: "64K"}
FANIN, OUR_RING, SOCKET_RING = "fanin", "ring over our net", "ring over Socket"


def environment(context, which, interface):
    env = {"LD_PRELOAD": os.path.join(context.build, "cpudev/libcpudev.so"),
           "LD_LIBRARY_PATH": os.path.join(context.build, "lib") + ":" + os.environ.get("LD_LIBRARY_PATH", ""),
           "NCCL_SOCKET_IFNAME": interface, "NCCL_LL_BUFFSIZE": "65536", "NCCL_LL128_BUFFSIZE": "65536", "NCCL_DEBUG": "WARN"}
    if which == SOCKET_RING:
        env.update(NCCL_NET="Socket", NCCL_NET_PLUGIN="none", NCCL_ALGO="Ring", NCCL_PROTO="Simple")
    elif which == OUR_RING:
        env.update(NCCL_NET_PLUGIN="fanin", NCCL_COLLNET_ENABLE="0", NCCL_ALGO="Ring", NCCL_PROTO="Simple")
    else:
        env.update(NCCL_NET_PLUGIN="fanin", NCCL_COLLNET_ENABLE="1", NCCL_ALGO="CollnetDirect", FANIN_STRICT="1")
    return env


def add_rows(context, bench, prefix, which, path, nodes, round_no, quiet, link=None):
    with open(path) as f:
        rows = json.load(f)["results"]
    for row in rows:
        case = f"{LABELS.get(row['size'], row['size'])} {prefix}"
        algbw = (row["out_of_place"]["alg_bw"] + row["in_place"]["alg_bw"]) / 2
        if link:
            context.report.add(bench, case, which, "algbw/link", algbw * 8e9 / link, round_no, quiet)
        else:
            context.report.add(bench, case, which, "algbw GB/s", algbw, round_no, quiet)


def lab_round(context, lab, pool, which, sizes, round_no):
    least, most, factor, iters = sizes
    context.say(f"nccl-lab round {round_no + 1}: {which}, up to {most >> 10} KiB")
    quiet = context.quiet.wait()
    out = context.path("nccl.json")
    port = random.randrange(20000, 30000)
    ranks = []
    for i, host in enumerate(lab.workers):
        env = environment(context, which, "eth0")
        env.update(NCCL_HOSTID=f"node{i}", RANK=str(i), WORLD_SIZE=str(len(lab.workers)), LOCAL_RANK="0",
                   MASTER_ADDR=lab.ip("w0"), MASTER_PORT=str(port))
        if which == FANIN:
            env["FANIN_REDUCERS"] = ",".join(pool.names)
        command = [context.program("fanin-nccl-perf"), "-b", str(least), "-e", str(most), "-f", str(factor), "-n", str(iters), "-w", "1",
                   "-c", "0", "-T", "60"] + (["-J", out] if i == 0 else [])
        ranks.append(context.start(command, env, lab=lab, host=host))
    context.wait(ranks, timeout=150)
    add_rows(context, NAME, lab.rate, which, out, len(lab.workers), round_no, quiet, link=lab.bps)


def loopback_round(context, which, nodes, size, round_no):
    context.say(f"nccl-lab, loopback, {nodes} nodes, round {round_no + 1}: {which}")
    quiet = context.quiet.wait()
    out = context.path("nccl.json")
    # The device lets NCCL's own sockets sleep between looks, to spare the cores, which a plugin's do not: here both poll.
    env = environment(context, which, "lo") | {"CPUDEV_IMPOLITE": "1"}
    context.run([context.program("fanin-nccl-perf"), "--nodes", str(nodes), "--gpus", "1", "-b", str(size), "-e", str(size), "-n",
                 "4", "-w", "1", "-c", "0", "-T", "60", "-J", out], env)
    add_rows(context, NAME, f"loopback n={nodes}", which, out, nodes, round_no, quiet)


def run(context):
    if not context.program("fanin-nccl-perf") or not os.path.exists(os.path.join(context.build, "cpudev/libcpudev.so")):
        raise Failed("not built: no NCCL 2.28 with headers on this machine (tools/nccl.sh fetches one)")
    rounds = 1 if context.smoke else max(3, context.rounds - 2)
    cases = [(64 << 10, 64 << 10, 2, 1)] if context.smoke else SIZES
    nodes = 2 if context.smoke else NODES
    with context.lab(nodes, nodes, "1gbit" if context.smoke else RATE) as lab:
        pool = peers.LabPool(context, lab)
        for sizes in cases:
            for round_no in range(rounds):
                for which in (FANIN, OUR_RING, SOCKET_RING):
                    lab_round(context, lab, pool, which, sizes, round_no)
        pool.stop()
    for nodes in (2,) if context.smoke else (2, 5):
        for round_no in range(rounds):
            for which in (OUR_RING, SOCKET_RING):
                loopback_round(context, which, nodes, 64 << 10 if context.smoke else 64 << 20, round_no)
