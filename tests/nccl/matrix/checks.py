"""What is run under each release, and what each run must show. A check's answer is one word for the table, or a Failure."""
import contextlib
import os
import re
import subprocess

import private
import release
from trial import Trial


class Failure(Exception):
    """What was wrong, and the run's story."""


def need(condition, what, trial):
    if not condition:
        raise Failure(f"{what}\n{trial.story()}")


class Checks:
    """Under one release. library: the folder with libnccl.so.2."""

    def __init__(self, build, version, library):
        self.build, self.version, self.number = build, version, release.number(version)
        self.library = library
        # On the library path, since NCCL up to 2.20 takes no path for a plugin; nothing but it.
        self.plugin = os.path.join(build, "nccl-matrix", "plugin")
        os.makedirs(self.plugin, exist_ok=True)
        link = os.path.join(self.plugin, "libnccl-net-fanin.so")
        if not os.path.islink(link):
            os.symlink(os.path.join("..", "..", "lib", "libnccl-net-fanin.so"), link)
        listed = subprocess.run(["nm", "-D", "--defined-only", link], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.exported = set(re.findall(r"\b(nccl\w+Plugin_v\d+)$", listed, re.M))

    def trial(self, arguments, more=None, reducers=2):
        variables = {"NCCL_NET_PLUGIN": "fanin"}
        if reducers:
            variables["NCCL_COLLNET_ENABLE"] = "1"
        variables.update(more or {})
        return Trial(self.build, [self.library, self.plugin], arguments, variables, reducers)

    def chosen(self, trial, kind):
        """The version of the table that NCCL took: it asks for the newest it knows first."""
        found = [int(s.rpartition("_v")[2]) for s in trial.symbols if s.startswith(f"nccl{kind}Plugin_v") and s in self.exported]
        return max(found, default=None)

    def tables(self):
        """Both tables are the newest that the release knows, NICs and their properties are taken, CollNet meets the reducers."""
        trial = self.trial("-n 4 -g 2 -x join", {"LD_DEBUG": "symbols", "LD_DEBUG_OUTPUT": "@LOADER@"})
        need(trial.good, "no communicator", trial)
        want = release.table_version(self.version)
        net, collnet = self.chosen(trial, "Net"), self.chosen(trial, "CollNet")
        need((net, collnet) == (want, want), f"net v{net}, collnet v{collnet}, expected v{want}", trial)
        said = set(re.findall(r"Loaded (?:coll)?net plugin fanin \(v(\d+)\)", trial.log))
        need(said == ({str(want)} if self.number >= 22400 else set()), f"NCCL says {said or 'nothing'} of versions", trial)
        need(len(re.findall("Using network fanin", trial.log)) == 4, "another network is used", trial)
        need(re.search(r"via NET/fanin/0", trial.log), "no channel over our NIC", trial)
        need(re.search(r"via COLLNET/fanin/0", trial.log), "no CollNet channel over our NIC", trial)
        need(len(re.findall(r"rank \d of 2 on lo uses 2 reducers", trial.log)) == 2, "a node has no reducers", trial)
        need(trial.sessions >= 2, "reducers saw no session", trial)
        tuner, expected = self.chosen(trial, "Tuner"), release.tuner_version(self.version)
        need(tuner == expected, f"tuner v{tuner}, expected v{expected}", trial)
        if tuner:
            said = re.findall(r"TUNER/Plugin: Using (?:tuner plugin )?fanin(?: \(v(\d+)\))?$", trial.log, re.M)
            need(len(said) == 4 and set(said) == ({str(tuner)} if self.number >= 22800 else {""}), f"NCCL says {said} of tuners", trial)
        return f"v{want}" + (f", tuner v{tuner}" if tuner else "")

    def ring(self):
        """All collectives over our point-to-point net."""
        trial = self.trial("-n 3 -c all -b 3K -e 3M -f 32", {"NCCL_ALGO": "Ring"} if self.number < 22400 else
                           {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}, reducers=0)
        need(trial.good, "wrong results", trial)
        return "yes"

    def all_reduce(self, algorithm):
        trial = self.trial("-n 4 -g 2 -b 3K -e 3M -f 32 -i 1", {"NCCL_ALGO": algorithm})
        need(trial.good, "wrong results", trial)
        need(trial.received > 0, "nothing went through the reducers", trial)
        return trial

    def direct(self):
        self.all_reduce("CollnetDirect")
        return "yes"

    def chain(self):
        """The same bits as direct: the reducers add in rank order."""
        need_hash, trial = self.all_reduce("CollnetDirect").hash, self.all_reduce("CollnetChain")
        need(trial.hash == need_hash, "other bits than CollnetDirect", trial)
        return "yes"

    def gather(self):
        """Reduce-scatter and all-gather."""
        trial = self.trial("-n 3 -c reducescatter,allgather -b 3K -e 3M -f 32 -i 1", {"NCCL_ALGO": "CollnetDirect"})
        need(trial.good, "wrong results", trial)
        need(trial.received > 0, "nothing went through the reducers", trial)
        return "yes"

    def registered(self):
        """Buffers of the user's, registered with NCCL, on a device that claims GPUDirect."""
        trial = self.trial("-n 3 -b 12K -e 3M -f 16 -r",
                           {"NCCL_ALGO": "CollnetDirect", "CPUDEV_GDR": "1", "NCCL_NET_GDR_LEVEL": "SYS"})
        need(trial.good, "wrong results", trial)
        need(trial.received > 0, "nothing went through the reducers", trial)
        return "yes"

    def tuner(self):
        """Ring or tree below the size that all ranks name, the reducers from it on: by NCCL's log and the plugin's own counts."""
        version = release.tuner_version(self.version)
        measured = version >= 5
        with private.slow_loopback() if measured else contextlib.nullcontext(True) as both_sides:
            whole = self.trial("-n 3 -b 1K -e 256K -f 4", reducers=3)
            below = self.trial("-n 3 -b 1K -e 1K", reducers=3)
        for trial in whole, below:
            need(trial.good, "wrong results", trial)
            need(trial.crossover is not None, "ranks name no size, or different ones", trial)
            need(trial.measured == measured, "figures are not from where they should be", trial)
            for size, algorithms in trial.algorithms.items():
                need(len(algorithms) == 1, f"{size} bytes went several ways", trial)
                need(algorithms <= ({"COLLNET_DIRECT", "COLLNET_CHAIN"} if size >= trial.crossover else {"RING", "TREE"}),
                     f"{size} bytes: {algorithms} with a crossover of {trial.crossover}", trial)
            counts = trial.messages
            need(len(counts) == 3 and len(set(counts)) == 1, f"ranks posted {counts} messages", trial)
            need((counts[0] > 0) == (max(trial.algorithms) >= trial.crossover), f"ranks posted {counts[0]} messages", trial)
        need(list(whole.algorithms) == [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10], f"NCCL logs {whole.algorithms}", whole)
        if both_sides:
            need(1 << 10 < whole.crossover <= 256 << 10, f"a crossover of {whole.crossover}", whole)
            need(below.messages[0] == 0, "1 KiB went through the reducers", below)
        if 22600 <= self.number < 22706:
            # Of these releases' error with tuners in the network's library (plugin/tuner/reopen.h).
            for name in "none", "of-nobody":
                trial = self.trial("-n 2 -x join", {"NCCL_TUNER_PLUGIN": name})
                need(trial.good, f"NCCL_TUNER_PLUGIN={name}", trial)
        return "measured" if measured else "assumed"

    def by_itself(self):
        """CollNet without a variable that turns it on: by the plugin, or by the environment plugin, which names the plugin too."""
        by = release.turned_on_by(self.version)
        if by is None:
            return "–"
        trial = Trial(self.build, [self.library, os.path.join(self.build, "lib") if by == "env" else self.plugin],
                      "-n 3 -x join", {} if by == "env" else {"NCCL_NET_PLUGIN": "fanin"})
        need(trial.good and trial.sessions >= 1, "CollNet was not turned on", trial)
        need(len(re.findall("Using network fanin", trial.log)) == 3, "another network is used", trial)
        return by + " plugin" if by == "env" else by


# Column of the table: check; those after "tables" and "by itself" need collectives.
COLUMNS = [("tables", "tables", False), ("CollNet turned on by itself by", "by_itself", False), ("ring over our net", "ring", True),
           ("direct", "direct", True), ("chain", "chain", True), ("gather, scatter", "gather", True),
           ("registered", "registered", True), ("crossover", "tuner", True)]


def run(build, version, library):
    """({column: word}, [failures])."""
    checks, words, failures = Checks(build, version, library), {}, []
    for title, name, collective in COLUMNS:
        if collective and not release.runs_collectives(version):
            words[title] = "–"
            continue
        try:
            words[title] = getattr(checks, name)()
        except Failure as failure:
            words[title] = "**fails**"
            failures.append(f"NCCL {version}, {title}: {failure}")
    return words, failures
