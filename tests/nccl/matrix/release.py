"""NCCL releases, and what docs/nccl-compatibility.md promises for each."""

# make test runs these; make nccl-matrix also those in MORE, so that there is one of every minor release.
TESTED = ["2.18.3", "2.21.5", "2.23.4", "2.25.1", "2.26.5", "2.27.3", "2.28.9", "2.29.7", "2.30.7"]
MORE = ["2.16.2", "2.17.1", "2.19.3", "2.20.5", "2.22.3", "2.24.3", "2.27.7", "2.31.2", "2.32.3"]


def number(version):
    """As ncclGetVersion says it."""
    major, minor, patch = (int(n) for n in version.split("."))
    return major * 10000 + minor * 100 + patch


def every():
    return sorted(TESTED + MORE, key=number)


def package(version):
    """The name in the Python registry: CUDA 13's where it exists, so that both kinds are run."""
    return "nvidia-nccl-cu13" if number(version) >= 22800 else "nvidia-nccl-cu12"


def table_version(version):
    """The version of the net and collnet tables that the release takes from a library with v6 to v12."""
    known = [(23000, 12), (22800, 11), (22600, 10), (22400, 9), (22000, 8), (21900, 7)]
    return next((table for since, table in known if number(version) >= since), 6)


def tuner_version(version):
    """The same of the tuner's tables, v2 to v6; None: the release has no tuner of such a version."""
    known = [(23002, 6), (22800, 5), (22400, 4), (22200, 3), (22100, 2)]
    return next((table for since, table in known if number(version) >= since), None)


def runs_collectives(version):
    """Whether the CPU device knows the work that the release gives to its kernels (device/kernel/layout.cc)."""
    return 22200 <= number(version) < 23100


def turned_on_by(version):
    """Who turns CollNet on where no variable of NCCL's says so; None: nobody."""
    if number(version) < 22700:
        return "plugin"
    return "env" if number(version) >= 22807 else None
