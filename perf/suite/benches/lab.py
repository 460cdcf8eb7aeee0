"""lab: 5 workers and 5 reducers, each host behind a shaped link; every peer once in every round."""
import machine
import peers

NAME = "lab"
WORKERS = REDUCERS = 5
MIB = 1 << 20
# (rate, size, label, seconds of traffic at link rate a run aims at, peers)
ALL = ("fanin", "ring", "ideal", "gloo", "mpi")
CASES = [("200mbit", 64 << 10, "64K 200mbit", .5, ALL[:4]), ("200mbit", MIB, "1M 200mbit", .6, ALL),
         ("500mbit", 16 * MIB, "16M 500mbit", .8, ALL), ("500mbit", 64 * MIB, "64M 500mbit", 2, ALL[:4]),
         ("1gbit", 64 * MIB, "64M 1gbit", 1.2, ALL[:3])]
# Open MPI polls without end, which is slow where hosts share cores: fewer cases and rounds of it fit the time.
MPI_ROUNDS = 2
SMOKE = [("1gbit", 256 << 10, "256K 1gbit", .02, ALL)]


def iterations(size, bps, seconds):
    return max(2, min(400, round(seconds * bps / 8 / size)))


def measure(context, lab, pool, bench, case, peer, size, iters, round_no, metric="algbw/link"):
    """One run; adds its samples. metric: algbw/link, or for an unshaped lab the time."""
    quiet = context.quiet.wait()
    warmup = 1 if size > MIB else max(2, iters // 10)
    resent, during = lab.retransmits(), machine.Interval()
    result = peers.run_peer(context, lab, peer, size, iters, warmup, pool)
    busy, steal = during.shares()
    quiet = quiet and steal < machine.STEAL_LIMIT
    gigabytes = iters * size / 1e9  # of one rank's buffer
    name = peers.NAMES[peer]

    def add(what, value):
        context.report.add(bench, case, name, what, value, round_no, quiet)

    if metric == "algbw/link":
        add(metric, result["algbw_GBps"] * 8e9 / lab.bps)
    else:
        add(metric, result["time_us"]["median"])
    add("worker CPU-s/GB", result["cpu_s"]["workers"] / gigabytes / len(lab.workers))
    if peer == "fanin":
        # The counter runs from start to end of the ranks: warm-up included, in both.
        moved = gigabytes * (iters + warmup) / iters
        add("reducer CPU-s/GB", result["reducers_cpu_s"] / moved)
    add("retransmits", lab.retransmits() - resent)
    add("machine busy", busy)


def run(context):
    cases = SMOKE if context.smoke else CASES
    found = peers.available(context)
    for rate in dict.fromkeys(c[0] for c in cases):
        with context.lab(2 if context.smoke else WORKERS, 2 if context.smoke else REDUCERS, rate) as lab:
            pool = peers.LabPool(context, lab)
            for _, size, label, seconds, wanted in [c for c in cases if c[0] == rate]:
                for round_no in range(context.rounds):
                    for peer in [p for p in wanted if p in found and (p != "mpi" or round_no < MPI_ROUNDS)]:
                        context.say(f"lab {label} round {round_no + 1} of {context.rounds}: {peer}")
                        measure(context, lab, pool, NAME, label, peer, size, iterations(size, lab.bps, seconds), round_no)
            pool.stop()
