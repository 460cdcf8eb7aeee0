"""What the benchmarks share: programs, a scratch folder, children that end with the run, the report."""
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lab"))
from ending import catch_signals  # noqa: E402,F401  (for bench.py)
from lab import Lab  # noqa: E402


class Failed(Exception):
    """A program of the suite failed; the text says which and why."""


class Context:
    def __init__(self, build, report, scratch, quiet, smoke=False, rounds=5, verbose=False):
        self.build, self.report, self.scratch, self.quiet = os.path.abspath(build), report, scratch, quiet
        self.smoke, self.verbose = smoke, verbose
        self.rounds = 1 if smoke else rounds
        self.children = []
        self.started = time.monotonic()
        self.serial = 0

    def program(self, name):
        for folder in ("bin", "perf"):
            path = os.path.join(self.build, folder, name)
            if os.path.exists(path):
                return path
        return None

    @property
    def plugin(self):
        return os.path.join(self.build, "lib/libnccl-net-fanin.so")

    def say(self, text):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{time.monotonic() - self.started:5.0f} s  {text[:100]}")
            sys.stderr.flush()
        elif self.verbose:
            print(f"{time.monotonic() - self.started:5.0f} s  {text}", file=sys.stderr, flush=True)

    def path(self, name):
        self.serial += 1
        return os.path.join(self.scratch, f"{self.serial}-{name}")

    def start(self, command, env=None, lab=None, host=None):
        """A child with its output in a file (child.log); inside a host of the lab where one is given."""
        if command[0] is None:
            raise Failed(f"a program of the suite is not in {self.build}: make bench-programs builds them")
        if lab is not None:
            command = lab.command(host, command)
        log = self.path(os.path.basename(command[0]) + ".log")
        with open(log, "w") as out:
            child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
        child.log, child.name = log, " ".join(command[:1] if lab is None else [host] + command[4:5])
        self.children.append(child)
        return child

    def wait(self, children, timeout=120):
        """All must end with 0."""
        deadline = time.monotonic() + timeout
        try:
            waiting = list(children)
            while waiting:
                # Whichever ends first with an error explains the others.
                for child in list(waiting):
                    code = child.poll()
                    if code is None:
                        continue
                    if code != 0:
                        raise Failed(f"{child.name} ended with {code}: {self.tail(child)}")
                    waiting.remove(child)
                    self.children.remove(child)
                if waiting:
                    if time.monotonic() > deadline:
                        raise Failed(f"{waiting[0].name} did not end within {timeout} s: {self.tail(waiting[0])}")
                    time.sleep(0.01)
        except Failed:
            for child in children:
                self.stop(child)
            raise

    @staticmethod
    def tail(child):
        with open(child.log, errors="replace") as f:
            lines = f.read().strip().splitlines()
        return " | ".join(lines[-3:])[-600:]

    def run(self, command, env=None, timeout=120, **where):
        """Runs to the end; returns what it printed."""
        child = self.start(command, env, **where)
        self.wait([child], timeout)
        with open(child.log, errors="replace") as f:
            return f.read()

    def run_json(self, command, env=None, timeout=120, **where):
        """The last JSON object in what it printed."""
        for line in reversed(self.run(command, env, timeout, **where).splitlines()):
            if line.startswith("{"):
                return json.loads(line)
        raise Failed(f"{command[0]} printed no result")

    def wait_for_file(self, path, child, timeout=20):
        deadline = time.monotonic() + timeout
        while not (os.path.exists(path) and os.path.getsize(path) > 0):
            if child.poll() is not None:
                raise Failed(f"{child.name} ended at once: {self.tail(child)}")
            if time.monotonic() > deadline:
                raise Failed(f"{child.name} is not ready after {timeout} s: {self.tail(child)}")
            time.sleep(0.01)
        with open(path) as f:
            return f.read().strip()

    def start_server(self, command, **where):
        """A program with --port-file; returns (child, port)."""
        port_file = self.path("port")
        child = self.start(command + ["--port-file", port_file], **where)
        return child, self.wait_for_file(port_file, child)

    def start_reducer(self, lanes=1, listen="127.0.0.1:0", **where):
        return self.start_server([self.program("fanin-reducer"), "--listen", listen, "--lanes", str(lanes)], **where)

    def stop(self, child):
        if child in self.children:
            self.children.remove(child)
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(timeout=3)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def close(self):
        for child in list(self.children):
            self.stop(child)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def lab(self, workers, reducers, rate):
        if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"):
            raise Failed("needs root and iproute2 for network namespaces")
        return Lab(workers, reducers, rate)


def cpu_seconds(pid):
    """CPU time of a running process so far, kernel's nanoseconds."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError as e:
        raise Failed(f"process {pid} is gone") from e


def parse_size(text):
    return int(float(text.rstrip("KMG")) * {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1], 1))
