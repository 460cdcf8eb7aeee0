#!/usr/bin/env python3
"""The benchmarks of docs/performance.md: runs them, prints one table, writes report.json, report.txt and report.svg.

    make bench                                      all of it, under 15 minutes on 2 cores; figures into docs/performance.md
    make bench BENCH="--only lab,cpu --rounds 7"    some of it; the page is left alone
    perf/suite/bench.py --from build/bench/report.json --doc docs/performance.md    table, plot and page of an earlier run
    perf/suite/bench.py --from a.json b.json ...    of a run that was made in parts (--only, --out); all of one commit and machine

lab, nccl-lab, loses and a part of latency need root and iproute2 (network namespaces); without they are left out, and the table
says so. Exit status: 0 measured, whatever the goals say; 1 a benchmark failed or the report could not be written; 2 usage; 130 interrupted (nothing is left behind).
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import doc  # noqa: E402
import goals  # noqa: E402
import machine  # noqa: E402
import plot  # noqa: E402
import table  # noqa: E402
from benches import cpu, kernels, lab, latency, loses, nccl, scale  # noqa: E402
from context import Context, Failed, catch_signals  # noqa: E402
from report import Report  # noqa: E402

# What comes first matters most: a run that is cut short still has it.
BENCHES = {b.NAME: b for b in (lab, nccl, cpu, kernels, latency, scale, loses)}


def options():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--build", default="build")
    args.add_argument("--out", help="folder for the report (default: BUILD/bench)")
    args.add_argument("--only", default="", help="names after commas: " + ", ".join(BENCHES))
    args.add_argument("--rounds", type=int, default=5, help="interleaved rounds of the lab, at least 5 for the page")
    args.add_argument("--wait", type=float, default=60, help="seconds to wait, in all, for a quiet machine")
    args.add_argument("--smoke", action="store_true", help="everything once and tiny, in seconds: does it work?")
    args.add_argument("--doc", help="page whose figures are replaced (after a whole run only) and beside which the plot is put")
    args.add_argument("--from", dest="source", nargs="+", help="make no run: render this report.json, or the parts of one run")
    args.add_argument("-v", "--verbose", action="store_true", help="say what runs, also where stderr is no terminal")
    o = args.parse_args()
    unknown = set(filter(None, o.only.split(","))) - set(BENCHES)
    if unknown:
        args.error(f"--only: no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join(BENCHES)}")
    if o.rounds < 1 or o.wait < 0:
        args.error("--rounds: at least 1, --wait: at least 0")
    o.out = o.out or os.path.join(o.build, "bench")
    # What would otherwise be found out after a quarter of an hour.
    try:
        missing = [p for p in ("bin/fanin-reducer", "bin/fanin-perf") if not os.path.exists(os.path.join(o.build, p))]
        if missing and not o.source:
            args.error(f"{o.build} has no {' and no '.join(missing)}: make bench-programs")
        os.makedirs(o.out, exist_ok=True)
        with tempfile.TemporaryFile(dir=o.out):
            pass
        if o.doc:
            with open(o.doc, "r+") as page:
                doc.replace(page.read(), "")
    except (OSError, ValueError) as e:
        args.error(f"the report cannot be written: {e}")
    return o


def drop_shared_memory(since):
    """A run of NCCL that was cut off leaves segments behind: ours are those that appeared since and nobody maps."""
    for name in os.listdir("/dev/shm"):
        path = os.path.join("/dev/shm", name)
        try:
            if name.startswith("nccl-") and os.stat(path).st_mtime >= since and os.stat(path).st_uid == os.getuid() and \
                    subprocess.run(["grep", "-qs", path] + [f"/proc/{p}/maps" for p in os.listdir("/proc") if p.isdigit()],
                                   stderr=subprocess.DEVNULL, check=False).returncode != 0:
                os.unlink(path)
        except OSError:
            pass


def measure(o, report):
    """Runs the benchmarks; returns the names of those that failed."""
    for name in [n for n in os.environ if re.match(r"(NCCL|FANIN|CPUDEV|OMPI|GLOO)_", n)]:
        del os.environ[name]  # a user's own settings are no part of this
    quiet = machine.Quiet(0 if o.smoke else o.wait, nap=.02 if o.smoke else .3)
    context = Context(o.build, report, tempfile.mkdtemp(prefix="fanin-bench."), quiet, o.smoke, o.rounds, o.verbose)
    wall, failed = time.time(), []
    try:
        for name, bench in BENCHES.items():
            if o.only and name not in o.only.split(","):
                continue
            try:
                bench.run(context)
            except (Failed, RuntimeError, OSError) as e:
                report.skipped[name] = str(e)
                # What cannot run here is no failure; what ran and broke is.
                if not str(e).startswith(("not built", "needs root")):
                    failed.append(name)
    finally:
        context.close()
        drop_shared_memory(wall)
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
    if quiet.seen:
        busy, steal = zip(*quiet.seen)
        report.facts["noise"] = {"rounds": len(quiet.seen), "quiet": sum(machine.is_quiet(b, s) for b, s in quiet.seen),
                                 "busy_median": statistics.median(busy), "busy_max": max(busy), "steal_max": max(steal),
                                 "waited_s": quiet.waited}
    report.facts["seconds"] = time.time() - wall
    return failed


def publish(o, report):
    """Prints first: what was measured is seen even when the disk is full."""
    reached = goals.evaluate(report)
    text, picture = table.text(report, reached), plot.svg(report)
    base = os.path.join(o.out, "report")
    print(text, flush=True)
    report.write(base + ".json")
    for ending, content in ((".txt", text), (".svg", picture)):
        with open(base + ending, "w") as f:
            f.write(content)
    if shutil.which("rsvg-convert"):
        subprocess.run(["rsvg-convert", "-o", base + ".png", base + ".svg"], check=False)
    print(f"Written: {base}.json, {base}.txt, {base}.svg")
    if not o.doc:
        return
    # A part of a run, or one where a benchmark could not run, must not take the others' figures off the page; --from may.
    left = [n for n in report.skipped if n in BENCHES and not o.source]
    why = "a smoke run" if o.smoke or report.facts.get("smoke") else "only a part was run" if o.only else "interrupted" \
        if "interrupted" in report.skipped else f"without {', '.join(left)}" if left else ""
    if why:
        print(f"{o.doc} is left as it is: {why}.")
    else:
        doc.update(o.doc, table.text(report, reached, as_markdown=True))
        shutil.copyfile(base + ".svg", os.path.splitext(o.doc)[0] + ".svg")
        print(f"Figures of {o.doc} replaced.")


def main():
    o = options()
    catch_signals()
    try:
        if o.source:
            try:
                report = Report.read(o.source[0])
                for path in o.source[1:]:
                    report.append(Report.read(path))
            except (OSError, ValueError, KeyError, TypeError) as e:
                print(f"bench.py: --from: {e if isinstance(e, (OSError, ValueError)) else 'not a report'}", file=sys.stderr)
                return 2
            publish(o, report)
            return 0
        report = Report(machine.facts(os.path.dirname(os.path.abspath(__file__))))
        if o.smoke:
            report.facts["smoke"] = True
        try:
            failed = measure(o, report)
        except KeyboardInterrupt:
            report.skipped["interrupted"] = "what follows is what had been measured by then"
            if report.samples:
                publish(o, report)
            raise
        publish(o, report)
        for name in failed:
            print(f"bench.py: {name} failed: {report.skipped[name]}", file=sys.stderr)
        return 1 if failed else 0
    except OSError as e:
        print(f"bench.py: the report could not be written: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; nothing is left behind", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
