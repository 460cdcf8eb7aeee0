#!/usr/bin/env python3
"""Starts torchrun on a replica of a Vertex AI job: nodes, rank and master from CLUSTER_SPEC, without the reducers (worker pool 2).

In the training image as /opt/fanin/launch.py; what is given here is given to torchrun: launch.py --nproc-per-node=8 train.py
"""
import json
import os
import sys


def place(text):
    """(number of nodes, this node's rank, the master's host, its port); ValueError with a line for a person."""
    if not text:
        raise ValueError("CLUSTER_SPEC is not set: this is no replica of a Vertex AI job with several worker pools")
    try:
        spec = json.loads(text)
    except ValueError as e:
        raise ValueError(f"CLUSTER_SPEC is not valid JSON: {e}") from None
    try:
        pools = [spec["cluster"].get(pool, []) for pool in ("workerpool0", "workerpool1")]
        kind, index = spec["task"]["type"], int(spec["task"]["index"])
        master, _, port = pools[0][0].rpartition(":")
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as e:
        raise ValueError(f"CLUSTER_SPEC lacks what tells nodes and this task apart ({type(e).__name__}: {e})") from None
    if kind not in ("workerpool0", "workerpool1"):
        raise ValueError(f"this is a task of {kind}; trainings are started in workerpool0 and workerpool1")
    pool = int(kind == "workerpool1")
    if not 0 <= index < len(pools[pool]):
        raise ValueError(f"CLUSTER_SPEC says that this is task {index} of {kind}, and there are only {len(pools[pool])}")
    return sum(map(len, pools)), index + pool * len(pools[0]), master, port


try:
    nodes, rank, master, port = place(os.environ.get("CLUSTER_SPEC"))
except ValueError as e:
    sys.exit(f"launch.py: {e}")
os.execvp("torchrun", ["torchrun", f"--nnodes={nodes}", f"--node-rank={rank}", f"--master-addr={master}",
                       f"--master-port={port}"] + sys.argv[1:])
