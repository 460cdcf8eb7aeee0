"""scale: up to 64 workers x 8 rails in the threads of one process against one reducer on loopback."""
from context import cpu_seconds

NAME = "scale"
WINDOW, BLOCK, MESSAGE = 1 << 20, 64 << 10, 256 << 10


def formula(workers, rails, lanes=1):
    """The reducer's memory by docs/protocol.md, in bytes."""
    window_blocks = max(4, -(-WINDOW // (lanes * BLOCK)))
    return rails * lanes * (workers + 1) * window_blocks * BLOCK


def run_one(context, workers, rails, iters, late):
    reducer, port = context.start_reducer()
    command = [context.program("fanin-scale"), "--workers", str(workers), "--rails", str(rails), "--bytes", str(MESSAGE), "--iters",
               str(iters), "--warmup", str(2 * WINDOW // MESSAGE), "--plugin", context.plugin, "--reducer-pid", str(reducer.pid)]
    before = cpu_seconds(reducer.pid)
    r = context.run_json(command + (["--late"] if late else []),
                         {"NCCL_SOCKET_IFNAME": "lo", "FANIN_REDUCERS": f"127.0.0.1:{port}", "FANIN_WINDOW": str(WINDOW)})
    r["reducer_cpu_s"] = cpu_seconds(reducer.pid) - before
    context.stop(reducer)
    return r


def run(context):
    for workers in (2, 4) if context.smoke else (2, 4, 8, 16, 32, 64):
        context.say(f"scale: {workers} workers")
        quiet = context.quiet.wait()
        iters = 2 if context.smoke else max(8, (512 << 20) // (workers * MESSAGE))
        r = run_one(context, workers, 1, iters, late=False)
        case = f"{workers} x 1"
        context.report.add(NAME, case, "fanin", "connect s", r["connect_s"], 0, quiet)
        context.report.add(NAME, case, "fanin", "reducer in GB/s", r["reducer_in_GBps"], 0, quiet)
    workers, rails = (4, 2) if context.smoke else (64, 8)
    for round_no in range(1 if context.smoke else 3):
        context.say(f"scale: {workers} workers x {rails} rails, round {round_no + 1}")
        quiet = context.quiet.wait()
        r = run_one(context, workers, rails, 2, late=True)
        case, mib = f"{workers} x {rails}", 1 << 20
        for metric, value in (("connect s", r["connect_s"]), ("reducer in GB/s", r["reducer_in_GBps"]),
                              ("memory MiB", (r["rss"]["peak"] - r["rss"]["before"]) / mib),
                              ("formula MiB", formula(workers, rails) / mib),
                              ("memory/formula", (r["rss"]["peak"] - r["rss"]["before"]) / formula(workers, rails))):
            context.report.add(NAME, case, "fanin", metric, value, round_no, quiet)
