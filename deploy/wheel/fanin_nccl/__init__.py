"""fanin's NCCL plugin as a Python package: `python -m fanin_nccl env` prints what a job's shell must set."""
import os

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "libnccl-net-fanin.so")
DOCTOR = os.path.join(os.path.dirname(os.path.dirname(LIBRARY)), "bin", "fanin-doctor")
# With this folder on the library path, NCCL from 2.28 on needs no variable set (docs/nccl-compatibility.md).
ENVIRONMENT_PLUGIN = os.path.join(os.path.dirname(LIBRARY), "env", "libnccl-env.so")


def environment(current=os.environ):
    """The variables that make NCCL use fanin, for a process whose environment is `current`; what is set there stays."""
    folder = os.path.dirname(LIBRARY)
    folders = [f for f in current.get("LD_LIBRARY_PATH", "").split(":") if f]
    wanted = {
        "LD_LIBRARY_PATH": ":".join([folder] + [f for f in folders if f != folder]),
        "NCCL_NET_PLUGIN": current.get("NCCL_NET_PLUGIN", "fanin"),
        "NCCL_COLLNET_ENABLE": current.get("NCCL_COLLNET_ENABLE", "1"),
    }
    return wanted
