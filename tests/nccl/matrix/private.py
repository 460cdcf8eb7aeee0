"""A network and a /dev/shm of a run's own, where they may be had: no other program's segments are counted, none is disturbed."""
import os
import shutil
import subprocess

ENTER = 'ip link set lo up && mount -t tmpfs shm /dev/shm && exec "$@"'


def prefix():
    """The command to put before another; empty where namespaces are not allowed."""
    if not shutil.which("unshare") or not shutil.which("ip"):
        return []
    command = ["unshare", "--net", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"]) + ["sh", "-c", ENTER, "enter"]
    tried = subprocess.run(command + ["true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return command if tried.returncode == 0 else []
