#!/usr/bin/env python3
"""Runs test programs one after the other and ends with the line `N passed, N failed, N skipped`.

GoogleTest programs report each case (read from their JSON); any other program is one case: exit 0 passed, 77 skipped
(its last line says why). Each program is bounded by --limit seconds; output is shown only for what failed.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time


def run(path, limit, extra):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [path] + ([f"--gtest_output=json:{report.name}", "--gtest_brief=1"] if path.endswith("_test") else [])
        started = time.monotonic()
        child = subprocess.Popen(command + extra, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 errors="replace", start_new_session=True)
        try:
            out, _ = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            out = f"did not end within {limit} s\n"
            child.kill()
            out += child.communicate()[0] or ""
        # What a broken test left behind, in its session only.
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        seconds = time.monotonic() - started
        passed, failed, skipped, notes = 0, 0, 0, []
        try:
            cases = [c for s in json.load(open(report.name))["testsuites"] for c in s["testsuite"]]
        except (ValueError, KeyError):
            cases = None
        if cases is None:
            passed, failed, skipped = int(child.returncode == 0), int(child.returncode not in (0, 77)), int(child.returncode == 77)
            if skipped:
                notes.append(out.strip().splitlines()[-1] if out.strip() else "no reason given")
        else:
            for case in cases:
                if case.get("failures"):
                    failed += 1
                elif case.get("result") == "SKIPPED" or case.get("skipped"):
                    skipped += 1
                    reason = (case.get("skipped") or [{}])[0].get("message", "").strip().splitlines()
                    notes.append(f"{case['classname']}.{case['name']}: {reason[-1] if reason else 'skipped'}")
                elif case.get("status") == "RUN":
                    passed += 1
            if child.returncode != 0 and failed == 0:
                failed += 1
                notes.append(f"exit status {child.returncode}")
        return passed, failed, skipped, notes, out, seconds


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--build", default="build", help="folder with lib/ and bin/, given to tests as FANIN_BUILD")
    args.add_argument("--limit", type=int, default=int(os.environ.get("FANIN_PROGRAM_LIMIT_S", "600")))
    args.add_argument("programs", nargs="+")
    options = args.parse_args()
    os.environ["FANIN_BUILD"] = os.path.abspath(options.build)
    for name in [n for n in os.environ if n.startswith("NCCL_")]:
        del os.environ[name]  # a user's NCCL settings are not part of the tests
    total = [0, 0, 0]
    for path in options.programs:
        passed, failed, skipped, notes, out, seconds = run(path, options.limit, [])
        total = [total[0] + passed, total[1] + failed, total[2] + skipped]
        print(f"{'FAIL' if failed else 'ok  '} {path} ({passed} passed, {failed} failed, {skipped} skipped, {seconds:.1f} s)", flush=True)
        for note in notes:
            print(f"     {note}")
        if failed:
            print("".join(f"     | {line}\n" for line in out.splitlines()[-80:]), flush=True)
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    sys.exit(1 if total[1] else 0)


main()
