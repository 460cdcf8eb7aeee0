"""cpu: what a worker and a reducer spend on unshaped loopback, against a process pair that only moves the same bytes."""
import json

NAME = "cpu"
SIZE, RANKS = 16 << 20, (2, 5)
BARE = {"bare TCP, 64 KiB calls": 64 << 10, "bare TCP, 1 MiB calls": 1 << 20}
LOOPBACK = {"NCCL_SOCKET_IFNAME": "lo"}


def fanin_perf(context, algo, ranks, size, iters, extra=()):
    out = context.path("perf.json")
    command = [context.program("fanin-perf"), "-n", str(ranks), "--algo", algo, "-b", str(size), "-e", str(size), "-i", str(iters),
               "-w", "2", "-c", "0", "--json", out] + (["-r", "1"] if algo == "fanin" else []) + list(extra)
    context.run(command, LOOPBACK)
    with open(out) as f:
        return json.load(f)["results"][0]


def run(context):
    size, iters = (1 << 20, 2) if context.smoke else (SIZE, 12)
    for ranks in RANKS[:1] if context.smoke else RANKS:
        case = f"{size >> 20}M n={ranks}"
        for round_no in range(1 if context.smoke else 3):
            quiet = context.quiet.wait()

            def add(peer, metric, value):
                context.report.add(NAME, case, peer, metric, value, round_no, quiet)

            for algo in ("fanin", "ring"):
                context.say(f"cpu {case} round {round_no + 1}: {algo}")
                r = fanin_perf(context, algo, ranks, size, iters, ["--crowded"])
                per_rank = iters * size * ranks / 1e9
                workers, calls = r["cpu_s"]["workers"], r["syscalls_per_MB"]
                if algo == "ring":
                    add("our ring", "CPU-s/GB", workers / per_rank)
                    add("our ring", "calls/MB", calls["workers"])
                    add("our ring", "algbw GB/s", r["algbw_GBps"])
                    continue
                add("worker", "CPU-s/GB", workers / per_rank)
                add("worker", "calls/MB", calls["workers"])
                add("worker", "algbw GB/s", r["algbw_GBps"])
                add("worker without its polling thread", "CPU-s/GB", (workers - r["cpu_s"]["progress_threads"]) / per_rank)
                add("reducer", "CPU-s/GB", r["cpu_s"]["reducers"] / per_rank)
                add("reducer", "calls/MB", calls["reducers"])
            for name, chunk in BARE.items():
                context.say(f"cpu {case} round {round_no + 1}: {name}")
                r = context.run_json([context.program("bare-tcp"), "stream", "--pairs", str(ranks), "--bytes", str(iters * size),
                                      "--buffer", str(size), "--chunk", str(chunk)])
                add(name, "CPU-s/GB", r["cpu_s_per_GB"]["source"] + r["cpu_s_per_GB"]["sink"])
                add(name, "calls/MB", r["syscalls_per_MB"]["source"] + r["syscalls_per_MB"]["sink"])
