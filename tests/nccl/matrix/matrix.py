#!/usr/bin/env python3
"""The plugin under real NCCL releases, which come from the Python registry, on the CPU device.

matrix.py --test RELEASE   one release, as a test: exit status 0, 1 or, where the registry does not answer, 77 and the reason last
matrix.py --doc FILE       all releases; the table goes into FILE, if every check of every release passed
"""
import argparse
import json
import os
import subprocess
import sys

import checks
import fetch
import private
import release
import table


def run(build, version, prefix):
    """Fetches the release, runs it in a process of its own; (words, failures)."""
    try:
        path = fetch.library(build, version)
    except fetch.Broken as reason:
        return {title: "**fails**" for title, _, _ in checks.COLUMNS}, [f"NCCL {version}: {reason}"]
    try:
        child = subprocess.run(prefix + [sys.executable, os.path.abspath(__file__), "--build", build, "--inside", version,
                                         os.path.dirname(path)], stdout=subprocess.PIPE, text=True)
    finally:
        fetch.done_with(build, version)
    if child.returncode != 0:
        return {title: "**fails**" for title, _, _ in checks.COLUMNS}, [f"NCCL {version}: the checks broke off"]
    return json.loads(child.stdout)


def test(build, version):
    try:
        words, failures = run(build, version, private.prefix())
    except fetch.Unreachable as reason:
        print(f"NCCL {version} not run: {reason}")
        return 77
    print(f"NCCL {version}: " + ", ".join(f"{k}: {v}" for k, v in words.items()))
    for failure in failures:
        print(failure)
    return 1 if failures else 0


def document(build, path, versions):
    rows, wrong, prefix = [], 0, private.prefix()
    for version in versions:
        try:
            words, failures = run(build, version, prefix)
        except fetch.Unreachable as reason:
            print(f"NCCL {version} not run: {reason}", file=sys.stderr)
            wrong += 1
            continue
        rows.append((version, release.package(version).removeprefix("nvidia-nccl-"), words))
        print(f"NCCL {version}: " + ", ".join(f"{k}: {v}" for k, v in words.items()), flush=True)
        for failure in failures:
            print(failure, file=sys.stderr)
        wrong += len(failures)
    print("\n" + table.markdown(rows))
    if wrong:
        print(f"{path} is left as it was: {wrong} failed", file=sys.stderr)
        return 1
    table.update(path, table.markdown(rows))
    return 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", default=os.environ.get("FANIN_BUILD", "build"), help="folder with lib/, bin/ and cpudev/")
    what = arguments.add_mutually_exclusive_group(required=True)
    what.add_argument("--test", metavar="RELEASE")
    what.add_argument("--doc", metavar="FILE")
    what.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    arguments.add_argument("releases", nargs="*", help="with --doc: only these")
    options = arguments.parse_args()
    build = os.path.abspath(options.build)
    if options.inside:
        json.dump(checks.run(build, *options.inside), sys.stdout)
        return 0
    if options.test:
        return test(build, options.test)
    return document(build, options.doc, options.releases or release.every())


sys.exit(main())
