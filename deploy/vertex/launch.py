#!/usr/bin/env python3
"""Starts torchrun on a replica of a Vertex AI job: nodes, rank and master from CLUSTER_SPEC, without the reducers (worker pool 2).

In the training image as /opt/fanin/launch.py; what is given here is given to torchrun: launch.py --nproc-per-node=8 train.py
"""
import json
import os
import sys

spec = json.loads(os.environ["CLUSTER_SPEC"])
pools = [spec["cluster"].get(pool, []) for pool in ("workerpool0", "workerpool1")]
task = spec["task"]
rank = int(task["index"]) + (len(pools[0]) if task["type"] == "workerpool1" else 0)
master, _, port = pools[0][0].rpartition(":")
os.execvp("torchrun", ["torchrun", f"--nnodes={sum(map(len, pools))}", f"--node-rank={rank}", f"--master-addr={master}",
                       f"--master-port={port}"] + sys.argv[1:])
