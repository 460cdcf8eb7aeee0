"""One all-reduce of one size by one peer on the hosts of a lab."""
import json
import os
import random
import shlex

from context import cpu_seconds

NAMES = {"fanin": "fanin", "ring": "our ring (ncclNet)", "ideal": "ideal TCP ring", "gloo": "Gloo ring", "mpi": "Open MPI"}
PACKAGES = {"gloo": ("gloo-allreduce", "libgloo-dev"), "mpi": ("mpi-allreduce", "openmpi-bin libopenmpi-dev")}


def available(context, wanted=("fanin", "ring", "ideal", "gloo", "mpi")):
    """The peers that can run here; the report says why the others cannot."""
    found = []
    for peer in wanted:
        program, packages = PACKAGES.get(peer, (None, None))
        if program and not context.program(program):
            context.report.skipped[NAMES[peer]] = f"not built: tools/deps.sh peers installs {packages}"
        else:
            found.append(peer)
    return found


class LabPool:
    """The reducers of a lab, one in each reducer host or in the first `count` of them."""

    def __init__(self, context, lab, lanes=1, count=None):
        self.context, self.children, self.names = context, [], []
        for host in lab.reducers[:count]:
            child, port = context.start_reducer(lanes, f"{lab.ip(host)}:0", lab=lab, host=host)
            self.children.append(child)
            self.names.append(f"{lab.ip(host)}:{port}")

    def cpu(self):
        return sum(cpu_seconds(c.pid) for c in self.children)

    def stop(self):
        for child in self.children:
            self.context.stop(child)


def run_peer(context, lab, peer, size, iters, warmup, pool):
    """Returns the result of rank 0's JSON; with "reducers_cpu_s" (all of the run) for fanin."""
    port = random.randrange(20000, 30000)
    meeting = f"{lab.ip('w0')}:{port}"
    out = context.path(f"{peer}.json")
    before = pool.cpu() if peer == "fanin" else 0
    if peer == "mpi":
        ranks = [start_mpi(context, lab, size, iters, warmup, meeting, out)]
    else:
        ranks = []
        for i, host in enumerate(lab.workers):
            if peer in ("fanin", "ring"):
                command = [context.program("fanin-perf"), "--nranks", str(len(lab.workers)), "--rank", str(i), "--rendezvous",
                           meeting, "--algo", peer, "-b", str(size), "-e", str(size), "-i", str(iters), "-w", str(warmup),
                           "-c", "0", "--crowded"]
                if peer == "fanin":
                    command += ["--reducers", ",".join(pool.names)]
            else:
                command = [context.program({"ideal": "ideal-ring", "gloo": "gloo-allreduce"}[peer]), "--rank", str(i),
                           "--nranks", str(len(lab.workers)), "--rendezvous", meeting, "--host", lab.ip(host), "--bytes",
                           str(size), "--iters", str(iters), "--warmup", str(warmup), "--check", "0"]
            if i == 0:
                command += ["--json", out]
            ranks.append(context.start(command, {"NCCL_SOCKET_IFNAME": "eth0"}, lab=lab, host=host))
    context.wait(ranks, timeout=180)
    with open(out) as f:
        result = json.load(f)["results"][0]
    if peer == "fanin":
        result["reducers_cpu_s"] = pool.cpu() - before
    return result


# mpirun reaches its hosts through this instead of ssh. They share this machine's name, which would tell Open MPI that they
# are one host: each gets a name of its own.
AGENT = """#!/bin/sh
host=w$((${1##*.} - 1))
shift
exec ip netns exec %s$host unshare --uts sh -c 'hostname "$1"; shift; eval "$@"' sh $host "$@"
"""


def start_mpi(context, lab, size, iters, warmup, meeting, out):
    agent = os.path.join(context.scratch, "agent.sh")
    if not os.path.exists(agent):
        with open(agent, "w") as f:
            f.write(AGENT % lab.prefix)
        os.chmod(agent, 0o700)
    mpirun = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "--mca", "plm_rsh_agent", agent,
              "--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "oob_tcp_if_include", "eth0", "--mca", "btl_tcp_if_include", "eth0",
              "--mca", "btl", "tcp,self", "--mca", "pml", "ob1", "--mca", "mpi_yield_when_idle", "1",
              "-np", str(len(lab.workers)), "-H", ",".join(lab.ip(w) for w in lab.workers),
              context.program("mpi-allreduce"), "--rendezvous", meeting, "--bytes", str(size), "--iters", str(iters),
              "--warmup", str(warmup), "--check", "0", "--json", out]
    shell = "hostname w0; exec " + " ".join(shlex.quote(w) for w in mpirun)
    return context.start(["unshare", "--uts", "sh", "-c", shell], lab=lab, host="w0")
