"""latency: one message at a time, against an echo of the same size over the same path. Loopback: one reducer. In the lab: as many
reducers as workers, so that no link carries more than the echo's."""
import json
import random

from context import parse_size
import peers
from benches.cpu import fanin_perf

NAME = "latency"
SIZES, RANKS, RATE = ("32K", "256K"), (2, 5), "1gbit"
ECHO = "TCP echo"


def add(context, case, peer, times, round_no, quiet):
    context.report.add(NAME, case, peer, "p50 us", times["median"], round_no, quiet)
    context.report.add(NAME, case, peer, "p99 us", times["p99"], round_no, quiet)


def on_loopback(context, rounds, iters):
    server, port = context.start_server([context.program("bare-tcp"), "serve", "--listen", "127.0.0.1:0"])
    for text in SIZES:
        for round_no in range(rounds):
            quiet = context.quiet.wait()
            context.say(f"latency {text} on loopback, round {round_no + 1}")
            case = f"{text} loopback"
            for ranks in RANKS:
                r = fanin_perf(context, "fanin", ranks, parse_size(text), iters, ["--whole"])
                add(context, case, f"fanin n={ranks}", r["time_us"], round_no, quiet)
            r = context.run_json([context.program("bare-tcp"), "echo", "--connect", f"127.0.0.1:{port}", "--bytes",
                                  str(parse_size(text)), "--iters", str(iters)])
            add(context, case, ECHO, r["time_us"], round_no, quiet)
    context.stop(server)


def in_lab(context, lab, ranks, rounds, iters):
    host = lab.reducers[0]
    pool = peers.LabPool(context, lab, count=ranks)
    server, echo_port = context.start_server([context.program("bare-tcp"), "serve", "--listen", f"{lab.ip(host)}:0"], lab=lab, host=host)
    for text in SIZES:
        size, case = parse_size(text), f"{text} lab {lab.rate}"
        for round_no in range(rounds):
            quiet = context.quiet.wait()
            context.say(f"latency {text} in the lab, n={ranks}, round {round_no + 1}")
            out, meeting = context.path("perf.json"), f"{lab.ip('w0')}:{random.randrange(20000, 30000)}"
            children = []
            for i, worker in enumerate(lab.workers[:ranks]):
                command = [context.program("fanin-perf"), "--nranks", str(ranks), "--rank", str(i), "--rendezvous", meeting, "--reducers",
                           ",".join(pool.names), "-b", str(size), "-e", str(size), "-i", str(iters), "-w", "20", "-c", "0", "--whole"]
                command += (["--crowded"] if ranks > 2 else []) + (["--json", out] if i == 0 else [])
                children.append(context.start(command, {"NCCL_SOCKET_IFNAME": "eth0"}, lab=lab, host=worker))
            context.wait(children)
            with open(out) as f:
                add(context, case, f"fanin n={ranks}", json.load(f)["results"][0]["time_us"], round_no, quiet)
            if ranks == RANKS[0]:
                r = context.run_json([context.program("bare-tcp"), "echo", "--connect", f"{lab.ip(host)}:{echo_port}", "--bytes", str(size),
                                      "--iters", str(iters)], lab=lab, host="w0")
                add(context, case, ECHO, r["time_us"], round_no, quiet)
    pool.stop()
    context.stop(server)


def run(context):
    rounds, iters = (1, 20) if context.smoke else (3, 1000)
    on_loopback(context, rounds, iters)
    if context.smoke:
        return
    with context.lab(max(RANKS), max(RANKS), RATE) as lab:
        for ranks in RANKS:
            in_lab(context, lab, ranks, rounds, iters // 4)
