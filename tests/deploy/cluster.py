"""Nodes that play a cluster's machines for the job specifications in deploy/: namespaces of perf/lab, a DNS server, and
containers as processes, whose command, environment, secrets and user are the specification's own.

A GPU node is one rank of the real NCCL on the CPU device, started where the specification starts torchrun (fakes/torchrun).
With -v a test prints what is started where, the names that are published, and what was logged about the reducers.
"""
import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(TOP, "perf", "lab"))
from lab import Lab  # noqa: E402

BUILD = os.path.abspath(os.environ.get("FANIN_BUILD", os.path.join(TOP, "build")))
# Kubernetes' schemas come from Python's registry, into an environment of their own (mk/tests-deploy.mk).
PYTHON = os.path.join(TOP, "build", "deploy-python", "bin", "python")
if os.path.abspath(sys.prefix) != os.path.abspath(os.path.join(TOP, "build", "deploy-python")):
    os.execv(PYTHON, [PYTHON] + sys.argv)
LIMIT_S = 120
DNS = "10.77.0.250"


def deploy(*path):
    return os.path.join(TOP, "deploy", *path)


def fail(text):
    raise SystemExit(f"FAILED: {text}")


def tell(text):
    if "-v" in sys.argv[1:]:
        print(text, flush=True)


def tell_log(host, log):
    for line in re.findall(r"^.*(?:NET/fanin : .*(?:uses|closed|does without|WARN).*|fanin-reducer: .*|Out of bounds values.*)$", log, re.MULTILINE):
        said = re.sub(r"^\S+Z |^.*(?=NET/fanin)", "", line)
        if not re.match(r"NET/fanin : rank [1-9]", said):
            tell(f"{host}: {said}")


def need_root_and_nccl():
    if os.geteuid() != 0:
        print("needs root, for namespaces that play the nodes")
        sys.exit(77)
    if not os.path.exists(os.path.join(BUILD, "cpudev/libcpudev.so")):
        print("needs the real NCCL 2.28 for the workers (tools/nccl.sh fetches one)")
        sys.exit(77)


def image_command(containerfile):
    """ENTRYPOINT of the image that a specification names, its program found on the path."""
    text = open(deploy("containers", containerfile)).read()
    command = json.loads(re.search(r"^ENTRYPOINT (\[.*\])$", text, re.MULTILINE)[1])
    return [os.path.basename(command[0])] + command[1:]


class Cluster:
    def __init__(self, workers, reducers, search):
        self.lab = Lab(workers, reducers, "none")
        self.search = search
        self.folder = tempfile.mkdtemp(prefix="fanin-deploy-")
        self.pods, self.names, self.netns_files = [], {}, []

    def __enter__(self):
        self.lab.__enter__()
        try:
            switch = self.lab.ns("switch")
            subprocess.run(["ip", "-n", switch, "addr", "add", f"{DNS}/24", "dev", "br0"], check=True)
            self.write_zone()
            os.mkdir(self.path("lib"))
            os.symlink(os.path.join(BUILD, "lib/libnccl-net-fanin.so"), self.path("lib/libnccl-net-fanin.so"))
            self.dns = subprocess.Popen(["ip", "netns", "exec", switch, sys.executable, os.path.join(HERE, "dns.py"), DNS,
                                         self.path("zone.json")], stdout=subprocess.PIPE, text=True)
            if self.dns.stdout.readline() != "ready\n":
                fail("the DNS server did not start")
            for host in self.lab.hosts:
                folder = os.path.join("/etc/netns", self.lab.ns(host))
                os.makedirs(folder)
                self.netns_files.append(folder)
                with open(os.path.join(folder, "resolv.conf"), "w") as f:
                    f.write(f"nameserver {DNS}\nsearch {self.search}\noptions ndots:5 timeout:1\n")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for pod in self.pods:
            pod.kill()
        if hasattr(self, "dns"):
            self.dns.kill()
            self.dns.wait()
        self.lab.down()
        for folder in self.netns_files:
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def publish(self, name, hosts):
        """A name of the search domain, and the hosts it resolves to from now on."""
        self.names[name if name.endswith(".") else f"{name}.{self.search.split()[0]}."] = [self.lab.ip(h) for h in hosts]
        self.write_zone()
        tell(f"{name} is now {', '.join(self.lab.ip(h) for h in hosts)}")

    def write_zone(self):
        with open(self.path("zone.new"), "w") as f:
            json.dump({name.rstrip(".").lower(): ips for name, ips in self.names.items()}, f)
        os.rename(self.path("zone.new"), self.path("zone.json"))

    def start(self, host, command, environment, files=None, user=None):
        """A container: only the given environment, beside what its image and the CPU device bring."""
        pod = Pod(self, host, command, environment, files or {}, user)
        self.pods.append(pod)
        shown = [f"{k}={'…' if 'SECRET' in k else v}" for k, v in environment.items() if re.match("FANIN_|NCCL_|CLUSTER_SPEC", k)]
        tell(f"{host}$ {shlex.join(shown + command)}")
        return pod

    def wait_ready(self, pods, port, path):
        """readinessProbe: waits until each answers 200."""
        deadline = time.monotonic() + LIMIT_S
        for pod in pods:
            while not pod.get(port, path):
                if pod.process.poll() is not None:
                    fail(f"{pod.host} ended with {pod.process.returncode}:\n{pod.log()}")
                if time.monotonic() > deadline:
                    fail(f"{pod.host} is not ready:\n{pod.log()}")

    def finish(self, workers, reducers, expected_reducers):
        """The workers end well, each used all reducers, and each reducer, drained, has summed something."""
        deadline = time.monotonic() + LIMIT_S
        for pod in workers:
            try:
                status = pod.process.wait(timeout=max(1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                fail(f"{pod.host} did not end within {LIMIT_S} s:\n{pod.log()}\nreducer: {reducers[0].log() if reducers else ''}")
            if status != 0:
                fail(f"{pod.host} ended with {status}:\n{pod.log()}\nreducer: {reducers[0].log() if reducers else ''}")
        for pod in workers:
            tell_log(pod.host, pod.log())
        log = "\n".join(pod.log() for pod in workers)
        if not re.search(rf"NET/fanin : rank 0 of \d+ .*uses {expected_reducers} reducers", log):
            fail(f"NCCL's log does not say that {expected_reducers} reducers are used:\n{log}")
        if reducers:
            self.drain(reducers)

    def drain(self, reducers):
        for pod in reducers:
            pod.process.terminate()
        for pod in reducers:
            pod.process.wait(timeout=30)
            tell_log(pod.host, pod.log())
        check_summed([pod.log() for pod in reducers])


def check_summed(logs):
    """logs: of each reducer. Each did its part, and together they summed no less than one of the all-reduces."""
    summed = [int(re.search(r"(\d+) bytes summed|$", log)[1] or 0) for log in logs]
    if min(summed) == 0 or sum(summed) < 32 << 20:
        fail(f"reducers summed {summed} bytes:\n" + "\n".join(logs))


class Pod:
    def __init__(self, cluster, host, command, environment, files, user):
        self.cluster, self.host = cluster, host
        self.log_path = cluster.path(f"{host}.log")
        env = {"PATH": f"{os.path.join(HERE, 'fakes')}:{BUILD}/bin:{os.environ['PATH']}", "FANIN_BUILD": BUILD, "HOME": "/root",
               # As the plugin's package and a CUDA image have it.
               "LD_LIBRARY_PATH": cluster.path("lib") + ":" + os.environ.get("LD_LIBRARY_PATH", "")} | environment
        # /run is the pod's own, for its secrets; read by its user alone.
        script = "set -e; " + ("mount -t tmpfs tmpfs /run; " if files else "")
        for i, (path, text) in enumerate(files.items()):
            source = cluster.path(f"{host}.file{i}")
            with open(source, "w") as f:
                f.write(text)
            script += f"install -D -m 440 -g {user or 0} {source} {path}; "
        drop = f"setpriv --reuid={user} --regid={user} --clear-groups --no-new-privs " if user else ""
        script += f'exec {drop}"$@"'
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(
                cluster.lab.command(host, ["unshare", "--mount", "sh", "-c", script, "sh"] + command), env=env, stdout=log,
                stderr=subprocess.STDOUT, cwd=cluster.folder)

    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()[-6000:]

    def get(self, port, path):
        script = "import sys, urllib.request as u; u.urlopen(sys.argv[1], timeout=2)"
        return self.cluster.lab.run(self.host, [sys.executable, "-c", script, f"http://127.0.0.1:{port}{path}"],
                                    stderr=subprocess.DEVNULL).returncode == 0

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def new_secret():
    return secrets.token_hex(32)
