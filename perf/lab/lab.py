#!/usr/bin/env python3
"""Several hosts on shaped links, on one machine: network namespaces on one switch.

    with Lab(workers=5, reducers=5, rate="500mbit") as lab:
        lab.run("w0", ["ip", "addr"])            # waits; returns CompletedProcess
        p = lab.start("r0", ["fanin-reducer"])   # a Popen inside the host

Needs root and iproute2. Worker i is 10.77.0.(1+i), reducer i is 10.77.0.(101+i). Every host has one link, shaped by a
token bucket in both directions (host to switch and switch to host), so that a host's link is full duplex at `rate`.
`lab.py up N M RATE` and `lab.py down` do the same from a shell.

Why the links are set up as they are:
  * a token bucket sees whole GSO packets: one packet is kept at about half a millisecond of link time, and the bucket holds
    two, so that the rate holds over a millisecond without the timer becoming the limit;
  * packets of one flow change CPUs between the ends of a veth and so get reordered; a real switch does not do that, so
    TCP is told that reordering is no loss (tcp_reordering, no RACK) instead of paying for steering;
  * nothing is lost here but by a full queue at a switch port (4 MiB), as on a real switch;
  * the address and forwarding tables are static: no look-ups or floods inside a measurement.
"""
import os
import re
import signal
import subprocess
import sys


def sh(*command, check=True):
    return subprocess.run(command, check=check, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def bits_per_second(rate):
    m = re.fullmatch(r"([\d.]+)([kmg]?)bit", rate.lower())
    if not m:
        raise ValueError(f"'{rate}' is not a rate; write 500mbit or 1gbit")
    return float(m[1]) * {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}[m[2]]


def remove(name):
    """A namespace and what still runs in it: Open MPI's daemons outlive a run that was cut short, and hold it."""
    for pid in sh("ip", "netns", "pids", name, check=False).stdout.split():
        try:
            os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:
            pass
    sh("ip", "netns", "del", name, check=False)


def sweep():
    """Removes the labs of runs that were killed: namespaces named after a process that is gone, and what runs in them."""
    names = re.findall(r"^(fanin(\d+)-\w+)", sh("ip", "netns", "list", check=False).stdout, re.MULTILINE)
    for name, pid in names:
        if os.path.exists(f"/proc/{pid}"):
            continue
        remove(name)


class Lab:
    def __init__(self, workers, reducers, rate="500mbit", mtu=1500, prefix=None):
        if os.geteuid() != 0:
            raise PermissionError("the lab makes network namespaces: run it as root")
        if not (0 < workers <= 99 and 0 <= reducers <= 99):
            raise ValueError("1 to 99 workers and 0 to 99 reducers")
        self.rate, self.mtu = rate, mtu
        self.bps = None if rate == "none" else bits_per_second(rate)
        self.prefix = prefix if prefix is not None else f"fanin{os.getpid()}-"
        self.workers = [f"w{i}" for i in range(workers)]
        self.reducers = [f"r{i}" for i in range(reducers)]
        self.hosts = self.workers + self.reducers
        self.made, self.children = [], []

    def ip(self, host):
        return f"10.77.0.{(1 if host[0] == 'w' else 101) + int(host[1:])}"

    def mac(self, host):
        return f"02:77:00:00:00:{(1 if host[0] == 'w' else 101) + int(host[1:]):02x}"

    def ns(self, host):
        return self.prefix + host

    def __enter__(self):
        sweep()
        try:
            self._up()
        except BaseException as e:  # an interrupt as well: nothing stays behind
            self.down()
            if not isinstance(e, subprocess.CalledProcessError):
                raise
            raise RuntimeError(f"the lab cannot be set up: {' '.join(e.cmd)}: {e.stderr.strip()}") from e
        return self

    def __exit__(self, *_):
        self.down()

    def _add_namespace(self, host):
        try:
            sh("ip", "netns", "add", self.ns(host))
        except KeyboardInterrupt:
            self.made.append(host)  # perhaps; one that exists already (CalledProcessError) is somebody else's
            raise
        self.made.append(host)

    def _up(self):
        switch = self.ns("switch")
        self._add_namespace("switch")
        sh("ip", "-n", switch, "link", "add", "br0", "type", "bridge", "stp_state", "0", "forward_delay", "0",
           "mcast_snooping", "0")
        sh("ip", "-n", switch, "link", "set", "br0", "mtu", str(self.mtu), "up")
        gso = 65536 if self.bps is None else int(min(131072, max(16384, self.bps / 8 * 550e-6 // 4096 * 4096)))
        for host in self.hosts:
            self._add_host(host, switch, gso)
        for a in self.hosts:
            for b in self.hosts:
                if a != b:
                    sh("ip", "-n", self.ns(a), "neigh", "add", self.ip(b), "lladdr", self.mac(b), "nud", "permanent",
                       "dev", "eth0")
            sh("bridge", "-n", switch, "fdb", "replace", self.mac(a), "dev", f"p{a}", "master", "static")

    def _add_host(self, host, switch, gso):
        ns, port = self.ns(host), f"p{host}"
        self._add_namespace(host)
        for setting in ("net.ipv4.tcp_no_metrics_save=1", "net.ipv4.tcp_slow_start_after_idle=0",
                        "net.ipv4.tcp_early_retrans=0", "net.ipv4.tcp_reordering=300", "net.ipv4.tcp_recovery=0"):
            sh("ip", "netns", "exec", ns, "sysctl", "-qw", setting)
        sh("ip", "-n", ns, "link", "set", "lo", "up")
        sh("ip", "link", "add", "eth0", "netns", ns, "mtu", str(self.mtu), "address", self.mac(host), "type", "veth",
           "peer", "name", port, "netns", switch, "mtu", str(self.mtu))
        for where, device in ((ns, "eth0"), (switch, port)):
            sh("ip", "-n", where, "link", "set", device, "gso_max_size", str(gso))
            sh("ip", "-n", where, "link", "set", device, "gso_ipv4_max_size", str(gso), check=False)
        sh("ip", "-n", ns, "link", "set", "eth0", "txqueuelen", "10000", "up")
        sh("ip", "-n", switch, "link", "set", port, "txqueuelen", "10000", "master", "br0", "up")
        sh("ip", "-n", ns, "addr", "add", f"{self.ip(host)}/24", "dev", "eth0", "noprefixroute")
        sh("ip", "-n", ns, "route", "add", "10.77.0.0/24", "dev", "eth0", "src", self.ip(host), "congctl", "cubic")
        if self.bps is not None:
            burst = str(2 * gso + 3 * self.mtu)
            sh("tc", "-n", ns, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", self.rate, "burst", burst, "limit",
               "16777216")
            sh("tc", "-n", switch, "qdisc", "add", "dev", port, "root", "tbf", "rate", self.rate, "burst", burst, "limit",
               "4194304")

    def command(self, host, command):
        return ["ip", "netns", "exec", self.ns(host)] + list(command)

    def start(self, host, command, **popen):
        child = subprocess.Popen(self.command(host, command), **popen)
        self.children.append(child)
        return child

    def run(self, host, command, **kwargs):
        return subprocess.run(self.command(host, command), **kwargs)

    def retransmits(self):
        total = 0
        for host in self.hosts:
            out = self.run(host, ["cat", "/proc/net/snmp"], stdout=subprocess.PIPE, text=True).stdout
            names, values = [line.split() for line in out.splitlines() if line.startswith("Tcp:")]
            total += int(values[names.index("RetransSegs")])
        return total

    def down(self):
        for child in self.children:
            if child.poll() is None:
                child.terminate()
        for child in self.children:
            try:
                child.wait(timeout=3)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        for host in self.made:
            remove(self.ns(host))
        self.made, self.children = [], []


def main():
    usage = "lab.py up WORKERS REDUCERS RATE | lab.py down WORKERS REDUCERS    (namespaces w0..., r0..., switch)"
    if len(sys.argv) not in (4, 5) or not all(n.isdigit() for n in sys.argv[2:4]):
        print(usage)
        sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 2)
    try:
        action, workers, reducers, *rate = sys.argv[1:]
        lab = Lab(int(workers), int(reducers), *(rate or ["none"]), prefix="")
        if action == "up":
            lab.__enter__()
        elif action == "down":
            lab.made = lab.hosts + ["switch"]
            lab.down()
        else:
            raise ValueError(f"unknown action '{action}'")
    except (ValueError, PermissionError, RuntimeError) as e:
        sys.exit(f"lab.py: {e}\n{usage}")


if __name__ == "__main__":
    main()
