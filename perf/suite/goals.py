"""What was aimed at, and whether it was reached. A goal without a value was not measured, and is not met."""
from dataclasses import dataclass
from typing import Optional

import peers

FANIN, RING, IDEAL = peers.NAMES["fanin"], peers.NAMES["ring"], peers.NAMES["ideal"]


@dataclass
class Goal:
    bench: str
    what: str
    limit: float
    at_least: bool  # else at most
    value: Optional[float]
    note: str = ""

    @property
    def met(self):
        return self.value is not None and (self.value >= self.limit if self.at_least else self.value <= self.limit)


def over(a, b):
    return a / b if a is not None and b else None


def evaluate(report):
    """All goals, in the order of docs/performance.md."""
    goals = []

    def add(bench, case, what, limit, value, note, at_least):
        quiet, rounds = report.rounds(bench, case)
        if report.facts.get("smoke"):
            value = None
        if value is not None and quiet < min(rounds, 3):
            note = f"noisy: {quiet} of {rounds} rounds quiet" + (f"; {note}" if note else "")
        goals.append(Goal(bench, what, limit, at_least, value, note))

    def at_least(bench, case, what, limit, value, note=""):
        add(bench, case, what, limit, value, note, True)

    def at_most(bench, case, what, limit, value, note=""):
        add(bench, case, what, limit, value, note, False)

    for case, limit in (("64M 500mbit", .945), ("16M 500mbit", .935), ("64M 1gbit", .93), ("1M 200mbit", .88), ("64K 200mbit", .85)):
        at_least("lab", case, f"algbw / link, {case}", limit, report.median("lab", case, FANIN, "algbw/link"))
    for case, limit in (("64M 500mbit", 1.58), ("16M 500mbit", 1.56)):
        at_least("lab", case, f"fanin / ideal ring, {case}", limit, report.ratio("lab", case, FANIN, IDEAL, "algbw/link"))
    net, sock, case = "ring over our net", "ring over Socket", "64M 500mbit"
    at_least("nccl-lab", case, f"fanin / ring over our net, {case}", 1.5, report.ratio("nccl-lab", case, FANIN, net, "algbw/link"))
    at_least("nccl-lab", case, f"ring over our net / Socket, {case}", 1.0, report.ratio("nccl-lab", case, net, sock, "algbw/link"))
    for n in (2, 5):
        case = f"64M loopback n={n}"
        at_least("nccl-lab", case, f"ring over our net / Socket, {case}", 1.2, report.ratio("nccl-lab", case, net, sock, "algbw GB/s"))
    for n in (2, 5):
        case, bare = f"16M n={n}", "bare TCP, 64 KiB calls"
        floor = report.median("cpu", case, bare, "CPU-s/GB")
        total = report.median("kernels", "l2 sum", "float", f"CPU-s/GB n={n}") or 0.0
        own = report.ratio("cpu", case, "worker without its polling thread", bare, "CPU-s/GB")
        at_most("cpu", case, f"worker / bare TCP, n={n}", 1.10, report.ratio("cpu", case, "worker", bare, "CPU-s/GB"),
                f"{own:.2f} without the thread that polls in NCCL's place" if own else "")
        reducer = report.median("cpu", case, "reducer", "CPU-s/GB")
        at_most("cpu", case, f"(reducer - sum) / bare TCP, n={n}", 1.10, over(reducer - total if reducer else None, floor),
                f"the sum: {total:.3f} CPU-s/GB" if total else "the sum was not measured, nothing taken off" if reducer else "")
    for group, limit in (("float double ints", .9), ("half bfloat16", .8), ("fp8", .5)):
        at_least("kernels", "l2 sum", f"least sum from L2 / memory loop, {group}", limit, report.median("kernels", "l2 sum", group, "ratio, least"))
    for n, limit in ((2, 1.5), (5, 2.0)):
        for path in ("loopback", "lab 1gbit"):
            case = f"32K {path}"
            at_most("latency", case, f"p50 / echo, {case}, n={n}", limit, report.ratio("latency", case, f"fanin n={n}", "TCP echo", "p50 us"))
    at_most("scale", "64 x 8", "64 x 8 connect, seconds", 2.0, report.median("scale", "64 x 8", "fanin", "connect s"))
    ratio = report.median("scale", "64 x 8", "fanin", "memory/formula")
    at_most("scale", "64 x 8", "64 x 8, memory off its formula by", .05, abs(ratio - 1) if ratio is not None else None)
    return goals
