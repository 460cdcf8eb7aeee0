"""python -m fanin_nccl env | path: the lines to eval in the job's shell, or where the library is."""
import argparse
import shlex

import fanin_nccl

parser = argparse.ArgumentParser(prog="python -m fanin_nccl", description=__doc__)
parser.add_argument("what", choices=["env", "path"], help='env: export lines, for eval "$(...)"; path: of the library')
parser.add_argument("--version", action="version", version="@VERSION@")
if parser.parse_args().what == "path":
    print(fanin_nccl.LIBRARY)
else:
    for name, value in fanin_nccl.environment().items():
        print(f"export {name}={shlex.quote(value)}")
