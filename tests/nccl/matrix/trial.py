"""One run: reducers of its own, nccl-ranks on the CPU device under a given libnccl, and what was seen."""
import glob
import json
import os
import re
import shlex
import subprocess
import tempfile

from pool import Pool


class Trial:
    """arguments: of nccl-ranks. Everything it left is in the attributes."""

    def __init__(self, build, libraries, arguments, variables, reducers=2, limit=90):
        self.arguments = arguments
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("NCCL_", "FANIN_", "CPUDEV_", "LD_"))}
        with tempfile.TemporaryDirectory(prefix="fanin-matrix-") as folder:
            pool = Pool(build, reducers) if reducers else None
            stats = os.path.join(folder, "stats")
            environment.update({"LD_LIBRARY_PATH": ":".join(libraries), "NCCL_SOCKET_IFNAME": "=lo", "NCCL_DEBUG": "INFO",
                                "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET,TUNING", "NCCL_DEBUG_FILE": os.path.join(folder, "nccl.%p"),
                                # Every connection touches its buffers at the start, which is slow on a CPU.
                                "NCCL_LL_BUFFSIZE": "65536", "NCCL_LL128_BUFFSIZE": "65536", "FANIN_STATS_FILE": stats})
            if pool:
                environment["FANIN_REDUCERS"] = pool.addresses
            loader = os.path.join(folder, "loader")
            environment.update({k: v.replace("@LOADER@", loader) for k, v in variables.items()})
            command = [os.path.join(build, "cpudev/nccl-ranks")] + shlex.split(arguments)
            process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                       errors="replace")
            try:
                self.output, _ = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                process.kill()  # its ranks die with it
                self.output = f"did not end within {limit} s\n" + process.communicate()[0]
            self.good = process.returncode == 0 and ", 0 wrong, 0 segments left" in self.output
            hashes = re.findall(r"^results ([0-9a-f]+)", self.output, re.M)
            self.hash = hashes[-1] if hashes else ""
            self.log = "".join(self._read(f) for f in sorted(glob.glob(os.path.join(folder, "nccl.*"))))
            self.symbols = self._looked_up(glob.glob(loader + ".*"))
            self.sessions, self.received = pool.stop() if pool else (0, 0)
            # What NCCL gave each rank's plugin to sum.
            lines = self._read(stats).splitlines() if os.path.exists(stats) else []
            self.messages = [json.loads(line)["messages"] for line in lines]
        self.algorithms = self._algorithms(self.log)
        self.crossover, self.measured = self._tuner(self.log)

    @staticmethod
    def _read(path):
        with open(path, errors="replace") as f:
            return f.read()

    @staticmethod
    def _looked_up(files):
        """The plugin symbols that NCCL asked our library for, in order (LD_DEBUG=symbols)."""
        names = []
        for path in files:
            with open(path, errors="replace") as f:
                names += re.findall(r"symbol=(nccl\w+Plugin_v\d+);.*libnccl-net-fanin", f.read())
        return names

    @staticmethod
    def _algorithms(log):
        """{size of an all-reduce: what rank 0 says it took}; releases before 2.24 say numbers."""
        names, found = ["TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"], {}
        for size, algorithm in re.findall(r"NCCL INFO (?:AllReduce: )?(\d+) Bytes -> Algo (\w+)", log):
            found.setdefault(int(size), set()).add(names[int(algorithm)] if algorithm.isdigit() else algorithm)
        return found

    @staticmethod
    def _tuner(log):
        """From how many bytes on the reducers are to be used, and whether that is from measuring; (None, None): ranks differ."""
        said = set(re.findall(r"fanin : tuner: .*all-reduce (from [\d.]+ \w+ on|of any size|never) through the reducers \((\w+)", log))
        if len(said) != 1:
            return None, None
        size, figures = said.pop()
        if size.startswith("from"):
            _, number, unit, _ = size.split()
            bytes_ = float(number) * {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20}[unit]
        else:
            bytes_ = 0 if size == "of any size" else float("inf")
        return bytes_, figures == "measured"

    def story(self):
        return f"nccl-ranks {self.arguments}:\n{self.output[-3000:]}\n{self.log[-4000:]}"
