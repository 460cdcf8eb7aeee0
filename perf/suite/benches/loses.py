"""loses: where reducers do not pay. Pools smaller than the workers' bandwidth, and small messages on fast links. (CPU-bound loopback
is in cpu: "our ring" against "worker".)"""
import peers
from benches.lab import iterations, measure

NAME = "loses"
MIB = 1 << 20


def run(context):
    rounds = 1 if context.smoke else 3
    workers = 2 if context.smoke else 5
    size = MIB // 4 if context.smoke else 16 * MIB
    with context.lab(workers, workers, "1gbit" if context.smoke else "500mbit") as lab:
        pools = {count: peers.LabPool(context, lab, count=count) for count in range(1, workers + 1)}
        for round_no in range(rounds):
            for count, pool in pools.items():
                context.say(f"loses: {count} reducers for {workers} workers, round {round_no + 1}")
                case = f"{size / MIB:g}M {lab.rate}, K={count}"
                measure(context, lab, pool, NAME, case, "fanin", size, iterations(size, lab.bps, .3 if count == 1 else .6), round_no)
            measure(context, lab, None, NAME, f"{size / MIB:g}M {lab.rate}", "ring", size, iterations(size, lab.bps, .6), round_no)
        for pool in pools.values():
            pool.stop()
    if context.smoke:
        return
    with context.lab(workers, workers, "none") as lab:
        pool = peers.LabPool(context, lab)
        for small, iters in ((1 << 10, 1000), (32 << 10, 500), (256 << 10, 200)):
            for round_no in range(rounds):
                for peer in [p for p in ("fanin", "ring", "ideal", "mpi") if p in peers.available(context)]:
                    context.say(f"loses: {small >> 10} KiB on unshaped links, round {round_no + 1}: {peer}")
                    measure(context, lab, pool, NAME, f"{small >> 10}K unshaped", peer, small, iters, round_no, metric="p50 us")
        pool.stop()
