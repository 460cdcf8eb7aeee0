"""A network and a /dev/shm of a run's own, where they may be had: no other program's segments are counted, none is disturbed."""
import contextlib
import os
import shutil
import subprocess

ENTER = 'ip link set lo up && mount -t tmpfs shm /dev/shm && FANIN_PRIVATE_NETWORK=1 exec "$@"'


def prefix():
    """The command to put before another; empty where namespaces are not allowed."""
    if not shutil.which("unshare") or not shutil.which("ip"):
        return []
    command = ["unshare", "--net", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"]) + ["sh", "-c", ENTER, "enter"]
    tried = subprocess.run(command + ["true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return command if tried.returncode == 0 else []


@contextlib.contextmanager
def slow_loopback():
    """Loopback at 20 Mbit/s, where time is what bytes take, however busy the machine is; False: it is nobody's to change."""
    def sh(*command):
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    if os.environ.get("FANIN_PRIVATE_NETWORK") != "1" or not shutil.which("tc"):
        yield False
        return
    try:
        # Small packets, or a burst has to hold a whole 64 KiB.
        yield (sh("ip", "link", "set", "lo", "mtu", "1500") and
               sh("tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "20mbit", "burst", "16k", "limit", "64m"))
    finally:
        sh("tc", "qdisc", "del", "dev", "lo", "root")
        sh("ip", "link", "set", "lo", "mtu", "65536")
