"""python -m fanin_nccl env | path | doctor: the lines to eval in the job's shell, where the library is, or whether the job
would use its reducers."""
import argparse
import os
import shlex
import sys

import fanin_nccl

parser = argparse.ArgumentParser(prog="python -m fanin_nccl", description=__doc__.split(": ", 1)[1].capitalize())
parser.add_argument("what", choices=["env", "path", "doctor"], help='env: export lines, for eval "$(...)"; path: of the library; '
                    "doctor: fanin-doctor with what env says and the options that follow (doctor --help)")
parser.add_argument("--version", action="version", version="@VERSION@")
chosen = parser.parse_args(sys.argv[1:2])
if chosen.what == "doctor":
    os.execve(fanin_nccl.DOCTOR, ["fanin-doctor"] + sys.argv[2:], os.environ | fanin_nccl.environment())
parser.parse_args()
if chosen.what == "path":
    print(fanin_nccl.LIBRARY)
else:
    for name, value in fanin_nccl.environment().items():
        print(f"export {name}={shlex.quote(value)}")
