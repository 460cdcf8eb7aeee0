#!/usr/bin/env python3
"""fanin on one GPU: every rank is a process and, by an NCCL_HOSTID of its own, a node. At most 8 minutes; downloads nothing.

NCCL refuses two ranks on one GPU only where they are on one host, and takes NCCL_HOSTID for the host's name. The ranks'
kernels take turns on the GPU: the results count, the times say little.

1. builds what is not there yet (or takes what --build holds)
2. fanin-nccl-perf with 2 and 4 ranks: a ring over NCCL's sockets, then through two reducers on this host, every element of every
   result checked; the latter once more with buffers registered with NCCL
3. train.py by torchrun with 2 ranks, by the ring and through the reducers: the losses and the sum of all parameters must be equal to
   the bit (two values are added: no order; NCCL 2.24 or later), and at least all gradients must have reached the reducers

Prints one table. Exit status: 0 all right, 1 not.
--cpu-only runs 1 and 2 on the CPU device of tests/nccl instead, and 3, where PyTorch is installed, over gloo and once.
"""
import argparse
import glob
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "nccl", "matrix"))
from pool import Pool  # noqa: E402

MIB = 1 << 20
# What train.py all-reduces as gradients: four layers of 1024 x 1024 and biases, one of 1024 x 1, float; 30 steps, 2 ranks.
GRADIENTS = (4 * (1024 * 1024 + 1024) + 1024 + 1) * 4 * 30 * 2


class Failed(Exception):
    """A step went wrong; what, and the end of what it printed."""


def nccl_folder():
    """Where the NCCL that PyTorch brings is, if it brings one: one NCCL for both parts."""
    spec = importlib.util.find_spec("nvidia") if importlib.util.find_spec("torch") else None
    for place in spec.submodule_search_locations if spec else []:
        if os.path.exists(os.path.join(place, "nccl", "lib", "libnccl.so.2")):
            return os.path.join(place, "nccl", "lib")
    return None


class Job:
    """Commands with a deadline for all together; nothing outlives them."""

    def __init__(self, options):
        self.build, self.cpu, self.until = os.path.abspath(options.build), options.cpu_only, time.monotonic() + options.limit
        self.nccl = "of unknown version"
        self.folder = tempfile.TemporaryDirectory(prefix="fanin-gpu-")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("NCCL_", "FANIN_", "CPUDEV_", "TORCH"))}
        libraries = [os.path.join(self.build, "gpu-plugin"), self.environment.get("LD_LIBRARY_PATH", "")]
        if not self.cpu:
            libraries.insert(0, nccl_folder() or "")
        self.environment["LD_LIBRARY_PATH"] = ":".join(p for p in libraries if p)
        # Deterministic cuBLAS. One GPU a node has no use for NVLS.
        self.environment.update({"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "NCCL_SOCKET_IFNAME": "lo", "NCCL_NVLS_ENABLE": "0",
                                 "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET", "GLOO_SOCKET_IFNAME": "lo"})
        if self.cpu:
            self.environment.update({"CPUDEV_DEVICES": "1", "NCCL_LL_BUFFSIZE": "65536", "NCCL_LL128_BUFFSIZE": "65536"})

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def ring(self):
        return {"NCCL_NET": "Socket", "NCCL_NET_PLUGIN": "none", "NCCL_COLLNET_ENABLE": "0", "NCCL_ALGO": "Ring"}

    def fanin(self, pool, algorithm="CollnetChain"):
        # The path NCCL is given holds nothing but the plugin, so that no environment plugin takes part.
        return {"NCCL_NET_PLUGIN": "fanin", "NCCL_COLLNET_ENABLE": "1", "FANIN_REDUCERS": pool.addresses, "FANIN_STRICT": "1",
                "NCCL_ALGO": algorithm}

    def start(self, command, variables, name):
        environment = {**self.environment, "NCCL_DEBUG_FILE": self.path(name + ".nccl.%p"), **variables}
        with open(self.path(name), "w") as out:
            return subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT, start_new_session=True)

    def finish(self, processes, limit, name):
        """Waits for all; at the first failure, or when time is up, all end."""
        deadline, why = min(time.monotonic() + limit, self.until), ""
        try:
            while any(p.poll() is None for p in processes):
                if any(p.poll() for p in processes):
                    why = why or "a process failed"
                    deadline = min(deadline, time.monotonic() + 10)
                if time.monotonic() > deadline:
                    why = why or f"no end within {limit} s, or of the time for everything"
                    break
                time.sleep(0.05)
        finally:
            for p in processes:
                if p.poll() is None:
                    for how in (signal.SIGTERM, signal.SIGKILL):
                        os.killpg(p.pid, how)
                        try:
                            p.wait(10)
                            break
                        except subprocess.TimeoutExpired:
                            pass
        if why or any(p.returncode for p in processes):
            raise Failed(f"{name}: {why or 'failed'}\n{self.tail(name)}")

    def tail(self, name):
        """The end of the output and NCCL's warnings."""
        text = ""
        for path in sorted(glob.glob(self.path(name + "*"))):
            with open(path, errors="replace") as f:
                lines = f.read().splitlines()
            text += "\n".join([line for line in lines if "WARN" in line][:10] if ".nccl." in path else lines[-15:]) + "\n"
        return text.strip()

    def log(self, name):
        text = ""
        for path in glob.glob(self.path(name + ".nccl.*")):
            with open(path, errors="replace") as f:
                text += f.read()
        return text


def build(job):
    """Makes what is missing; a build folder that came with the machine is taken as it is."""
    need = ["bin/fanin-reducer", "bin/fanin-nccl-perf", "lib/libnccl-net-fanin.so"] + ["cpudev/libcpudev.so"] * job.cpu
    if not all(os.path.exists(os.path.join(job.build, n)) for n in need):
        variables = {}
        folder = None if job.cpu else nccl_folder()
        if folder:
            variables["NCCL_HOME"] = os.path.dirname(folder)
        targets = [os.path.relpath(os.path.join(job.build, n), ROOT) for n in need]
        job.finish([job.start(["make", f"-j{os.cpu_count()}"] + targets, variables, "make")], 240, "make")
    plugin = os.path.join(job.build, "gpu-plugin")
    os.makedirs(plugin, exist_ok=True)
    link = os.path.join(plugin, "libnccl-net-fanin.so")
    if not os.path.islink(link):
        os.symlink(os.path.join("..", "lib", "libnccl-net-fanin.so"), link)


def perf(job, ranks, way, registered=False):
    """A row: fanin-nccl-perf with this many nodes of one GPU."""
    name = f"perf-{ranks}-{way}" + ("-registered" if registered else "")
    largest = "256K" if job.cpu else "16M"
    command = [os.path.join(job.build, "bin", "fanin-nccl-perf"), "--nodes", str(ranks), "--gpus", "1", "-b", "4K", "-e", largest,
               "-f", "64", "-n", "5", "-w", "1", "-c", "1", "-d", "float,bfloat16", "-T", "40", "-J", job.path(name + ".json")]
    command += ["-R", "1"] if registered else []
    pool = Pool(job.build) if way == "fanin" else None
    received, started = 0, time.monotonic()
    try:
        variables = job.fanin(pool) if pool else job.ring()
        if job.cpu:
            variables["LD_PRELOAD"] = os.path.join(job.build, "cpudev", "libcpudev.so")
        job.finish([job.start(command, variables, name)], 60, name)
    finally:
        if pool:
            received = pool.stop()[1]
    with open(job.path(name + ".json")) as f:
        report = json.load(f)
    rows, job.nccl = report["results"], report["nccl_version"]
    wrong = sum(int(row[place]["nwrong"]) for row in rows for place in ("out_of_place", "in_place"))
    if wrong or not rows:
        raise Failed(f"{name}: {wrong} wrong elements\n{job.tail(name)}")
    if pool:
        # Each rank sends every size at least so often: 5 times timed and once checked, in and out of place.
        least = sum(2 * 6 * int(row["size"]) for row in rows) * ranks
        if received < least or "via COLLNET/fanin" not in job.log(name):
            raise Failed(f"{name}: {received} bytes reached the reducers, at least {least} are what was all-reduced\n{job.tail(name)}")
    last = max(rows, key=lambda row: int(row["size"]))
    return [f"all-reduce, 4K to {largest}", ranks, way, "registered" if registered else "plain", f"{len(rows) * 2} right",
            f"{float(last['out_of_place']['time']) / 1e3:.2f} ms for {largest}", received, time.monotonic() - started]


def held_port():
    """A socket that keeps a port from everybody but a server that sets SO_REUSEADDR, as torchrun's does."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", 0))
    return s


def train(job, way):
    """Two torchruns of one process each, as two hosts would start them; (values, row)."""
    name, losses, port = f"train-{way}", job.path(f"losses-{way}"), held_port()
    pool = Pool(job.build) if way == "fanin" else None
    received, started, processes = 0, time.monotonic(), []
    try:
        for node in range(2):
            # Broadcasts and all-gathers have no CollNetChain: only all-reduce is to use it.
            variables = job.fanin(pool, "allreduce:collnetchain") if pool else job.ring()
            variables["NCCL_HOSTID"] = f"fanin-node-{node}"
            command = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--node-rank", str(node), "--nproc-per-node", "1",
                       "--master-addr", "127.0.0.1", "--master-port", str(port.getsockname()[1]), os.path.join(HERE, "train.py"), losses]
            processes.append(job.start(command, variables, f"{name}-{node}"))
        job.finish(processes, 100, name)
    finally:
        port.close()
        if pool:
            received = pool.stop()[1]
    with open(losses) as f:
        values = f.read().split()
    if pool and received < GRADIENTS:
        raise Failed(f"{name}: {received} bytes reached the reducers, the gradients are {GRADIENTS}\n{job.tail(name)}")
    return values, [f"DDP, {len(values) - 1} steps", 2, way, "plain", f"loss {float.fromhex(values[-2]):.6f}", "", received,
                    time.monotonic() - started]


def compare(ring, fanin):
    different = [i for i, (a, b) in enumerate(zip(ring, fanin)) if a != b]
    if len(ring) != len(fanin) or different:
        where = f"step {different[0]}: {ring[different[0]]} and {fanin[different[0]]}" if different else "number of steps"
        raise Failed(f"the ring's losses and those through the reducers differ, first in {where}")


def show(rows):
    """One table; the last columns are numbers."""
    cells = [["what", "ranks", "way", "buffers", "result", "time", "MiB at reducers", "s in all"]]
    cells += [[str(c) for c in r[:6]] + [f"{r[6] / MIB:.1f}" if r[6] else "–", f"{r[7]:.1f}"] for r in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    for i, row in enumerate(cells):
        print("| " + " | ".join(c.ljust(w) for c, w in zip(row, widths)) + " |")
        if i == 0:
            print("|" + "|".join("-" * (w + 2) for w in widths) + "|")


def steps(job):
    """The rows, one after the other: (name, function)."""
    for ranks in (2, 4):
        for way in ("ring", "fanin"):
            yield lambda ranks=ranks, way=way: perf(job, ranks, way)
    yield lambda: perf(job, 2, "fanin", registered=True)


def run(job):
    rows, failures = [], []
    try:
        build(job)
    except Failed as failure:
        return rows, [str(failure)]
    for step in steps(job):
        try:
            rows.append(step())
        except (Failed, OSError, RuntimeError, ValueError) as failure:
            failures.append(str(failure))
    if not importlib.util.find_spec("torch"):
        (print if job.cpu else failures.append)("training: PyTorch is not installed here")
        return rows, failures
    try:
        values, row = train(job, "gloo" if job.cpu else "ring")
        rows.append(row)
        if not job.cpu:
            through, row = train(job, "fanin")
            rows.append(row)
            compare(values, through)
    except (Failed, OSError, RuntimeError, ValueError) as failure:
        failures.append(str(failure))
    return rows, failures


def machine(job):
    if job.cpu:
        return "the CPU device of tests/nccl, no GPU"
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], stdout=subprocess.PIPE,
                              text=True, check=True, timeout=30).stdout.splitlines()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return "a GPU nvidia-smi knows nothing of"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", default=os.environ.get("FANIN_BUILD", os.path.join(ROOT, "build")))
    arguments.add_argument("--cpu-only", action="store_true")
    arguments.add_argument("--limit", type=int, default=460, help="seconds for everything [460]")
    job = Job(arguments.parse_args())
    rows, failures = run(job)
    print(f"fanin on {machine(job)}; NCCL {job.nccl}")
    show(rows)
    for failure in failures:
        print(f"FAILED {failure}")
    print("FAILED" if failures else "OK")
    return 1 if failures else 0


sys.exit(main())
