#!/usr/bin/env python3
"""Runs test programs, two beside each other, and ends with the line `N passed, N failed, N skipped`.

GoogleTest programs report each case (read from their JSON); any other program is one case: exit 0 passed, 77 skipped
(its last line says why). Each program is bounded by --limit seconds; output is shown only for what failed.

The longest begin first, so that none of them is alone at the end. Programs of one folder that write the same files follow each
other (SERIAL), and those that measure run alone, last (ALONE).
"""
import argparse
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time

# By the time they take; what is not named here comes after, in its order. The order is no more than a matter of speed.
LONGEST = ("nccl/nccl_test", "packages/", "nccl/matrix-", "faults/faults_test", "gpu/cpu-only", "deploy/", "e2e/nccl_perf_test",
           "e2e/lifecycle_test", "nccl/cpudev_test", "unit/collnet_test", "e2e/collectives_test")
SERIAL = ("tests/packages/",)  # `make deb` writes into build/deb
ALONE = ("tests/perf/suite_smoke",)


class Outcome:
    """What one program came to."""

    def __init__(self):
        self.passed, self.failed, self.skipped, self.notes, self.out, self.seconds = 0, 0, 0, [], "", 0

    def of_cases(self, cases, status):
        for case in cases:
            if case.get("failures"):
                self.failed += 1
            elif case.get("result") == "SKIPPED" or case.get("skipped"):
                self.skipped += 1
                reason = (case.get("skipped") or [{}])[0].get("message", "").strip().splitlines()
                self.notes.append(f"{case['classname']}.{case['name']}: {reason[-1] if reason else 'skipped'}")
            elif case.get("status") == "RUN":
                self.passed += 1
        if status != 0 and self.failed == 0:
            self.failed += 1
            self.notes.append(f"exit status {status}")

    def of_status(self, status):
        self.passed, self.failed, self.skipped = int(status == 0), int(status not in (0, 77)), int(status == 77)
        if self.skipped:
            self.notes.append(self.out.strip().splitlines()[-1] if self.out.strip() else "no reason given")

    def show(self, path):
        print(f"{'FAIL' if self.failed else 'ok  '} {path} ({self.passed} passed, {self.failed} failed, {self.skipped} skipped, "
              f"{self.seconds:.1f} s)")
        for note in self.notes:
            print(f"     {note}")
        if self.failed:
            print("".join(f"     | {line}\n" for line in self.out.splitlines()[-80:]))
        sys.stdout.flush()


def end_session(child):
    """What a broken test left behind as well, in its session only."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(path, limit):
    outcome = Outcome()
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [path] + ([f"--gtest_output=json:{report.name}", "--gtest_brief=1"] if path.endswith("_test") else [])
        started = time.monotonic()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 errors="replace", start_new_session=True)
        try:
            outcome.out, _ = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            end_session(child)
            outcome.out = f"did not end within {limit} s\n" + (child.communicate()[0] or "")
        end_session(child)
        outcome.seconds = time.monotonic() - started
        try:
            cases = [c for s in json.load(open(report.name))["testsuites"] for c in s["testsuite"]]
        except (ValueError, KeyError):
            outcome.of_status(child.returncode)
        else:
            outcome.of_cases(cases, child.returncode)
    return outcome


def chains(programs):
    """Lists of programs, the longest first; those of one list follow each other."""
    def rank(path):
        return next((i for i, part in enumerate(LONGEST) if part in path), len(LONGEST))
    found, serial = [], {}
    for path in sorted(programs, key=rank):
        folder = next((f for f in SERIAL if path.startswith(f)), None)
        if folder in serial:
            serial[folder].append(path)
            continue
        found.append([path])
        if folder:
            serial[folder] = found[-1]
    return found


def run_all(programs, limit, jobs, done):
    """Calls done(path, outcome) for each, one call at a time."""
    waiting, lock = queue.SimpleQueue(), threading.Lock()
    for chain in chains(programs):
        waiting.put(chain)

    def work():
        while True:
            try:
                chain = waiting.get_nowait()
            except queue.Empty:
                return
            for path in chain:
                outcome = run(path, limit)
                with lock:
                    done(path, outcome)

    workers = [threading.Thread(target=work) for _ in range(jobs)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--build", default="build", help="folder with lib/ and bin/, given to tests as FANIN_BUILD")
    args.add_argument("--limit", type=int, default=int(os.environ.get("FANIN_TEST_PROGRAM_LIMIT_S", "1200")))
    args.add_argument("--jobs", type=int, default=int(os.environ.get("FANIN_TEST_JOBS", "2")), help="programs beside each other")
    args.add_argument("programs", nargs="+")
    options = args.parse_args()
    os.environ["FANIN_BUILD"] = os.path.abspath(options.build)
    for name in [n for n in os.environ if n.startswith("NCCL_")]:
        del os.environ[name]  # a user's NCCL settings are not part of the tests
    total = Outcome()

    def done(path, outcome):
        outcome.show(path)
        total.passed, total.failed = total.passed + outcome.passed, total.failed + outcome.failed
        total.skipped += outcome.skipped

    alone = [p for p in options.programs if p.startswith(ALONE)]
    run_all([p for p in options.programs if p not in alone], options.limit, options.jobs, done)
    run_all(alone, options.limit, 1, done)
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    sys.exit(1 if total.failed else 0)


main()
