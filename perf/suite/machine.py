"""Facts about this machine, and how quiet it is."""
import os
import platform
import subprocess
import time

BUSY_LIMIT, STEAL_LIMIT = 0.15, 0.02  # of all cores: above either a round is not quiet


def cpu_times():
    with open("/proc/stat") as f:
        fields = [int(x) for x in f.readline().split()[1:9]]
    user, nice, system, idle, iowait, irq, softirq, steal = fields
    return {"busy": user + nice + system + irq + softirq, "steal": steal, "all": sum(fields)}


class Interval:
    """Shares of CPU time since it was made: (busy, steal), each 0 ... 1 over all cores."""

    def __init__(self):
        self.start = cpu_times()

    def shares(self):
        now = cpu_times()
        total = max(now["all"] - self.start["all"], 1)
        return tuple((now[k] - self.start[k]) / total for k in ("busy", "steal"))


def is_quiet(busy, steal):
    return busy < BUSY_LIMIT and steal < STEAL_LIMIT


class Quiet:
    """Waits for others to be done, `budget` seconds in all over a run."""

    def __init__(self, budget, nap=0.3):
        self.budget, self.nap, self.waited = budget, nap, 0.0
        self.seen = []  # (busy, steal) before each round

    def wait(self):
        """True when the machine is quiet now; False when it was not and the budget is spent."""
        while True:
            interval = Interval()
            time.sleep(self.nap)
            shares = interval.shares()
            if is_quiet(*shares) or self.waited >= self.budget:
                self.seen.append(shares)
                return is_quiet(*shares)
            self.waited += self.nap


def command_output(*command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    except OSError:
        return ""


def facts(folder):
    model = ""
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    with open("/proc/meminfo") as f:
        memory = int(f.readline().split()[1]) // 1024
    commit = command_output("git", "-C", folder, "rev-parse", "--short=10", "HEAD") or "unknown"
    if command_output("git", "-C", folder, "status", "--porcelain", "--untracked-files=no", "--", ":!docs/performance.*"):
        commit += " and changes"
    return {"commit": commit, "cpu": model, "cores": len(os.sched_getaffinity(0)), "memory_MiB": memory,
            "kernel": platform.release(), "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "load": os.getloadavg()[0]}
