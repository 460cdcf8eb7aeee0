"""What a run of the suite knows: one flat list of samples, and facts about the machine.

A sample is one value of one metric of one peer in one case of one benchmark, taken in one round. JSON (schema 1):

    {"schema": 1, "facts": {...}, "skipped": {"bench or peer": "why"},
     "samples": [{"bench": "lab", "case": "64M 500mbit", "peer": "fanin", "metric": "algbw/link", "value": 0.94,
                  "round": 0, "quiet": true}, ...]}
"""
import json
import os
import statistics


class Report:
    def __init__(self, facts=None):
        self.facts = facts or {}
        self.skipped = {}
        self.samples = []

    def add(self, bench, case, peer, metric, value, round_no=0, quiet=True):
        if value is not None:
            self.samples.append({"bench": bench, "case": case, "peer": peer, "metric": metric, "value": value,
                                 "round": round_no, "quiet": quiet})

    def values(self, bench, case, peer, metric, quiet_only=False):
        return [s["value"] for s in self.samples if (s["bench"], s["case"], s["peer"], s["metric"]) ==
                (bench, case, peer, metric) and (s["quiet"] or not quiet_only)]

    def median(self, bench, case, peer, metric):
        """Over the quiet rounds where there are at least three of them, else over all; None without values."""
        values = self.values(bench, case, peer, metric, quiet_only=True)
        if len(values) < 3:
            values = self.values(bench, case, peer, metric)
        return statistics.median(values) if values else None

    def ratio(self, bench, case, peer, other, metric):
        """Median over the rounds of peer's value / other's value in the same round; of rounds quiet for both where there are three."""
        by_round, noisy = {}, set()
        for s in self.samples:
            if (s["bench"], s["case"], s["metric"]) == (bench, case, metric) and s["peer"] in (peer, other):
                by_round.setdefault(s["round"], {})[s["peer"]] = s["value"]
                if not s["quiet"]:
                    noisy.add(s["round"])
        ratios = {k: r[peer] / r[other] for k, r in by_round.items() if peer in r and other in r and r[other]}
        quiet = [v for k, v in ratios.items() if k not in noisy]
        chosen = quiet if len(quiet) >= 3 else list(ratios.values())
        return statistics.median(chosen) if chosen else None

    def rounds(self, bench, case, peer=None):
        """(quiet rounds, all rounds); of all peers where none is named: a round is quiet when it was for each."""
        found = {}
        for s in self.samples:
            if (s["bench"], s["case"]) == (bench, case) and peer in (None, s["peer"]):
                found[s["round"]] = found.get(s["round"], True) and s["quiet"]
        return sum(found.values()), len(found)

    def benches(self):
        return list(dict.fromkeys(s["bench"] for s in self.samples))

    def rows(self, bench):
        """(case, peer) in the order they first came."""
        return list(dict.fromkeys((s["case"], s["peer"]) for s in self.samples if s["bench"] == bench))

    def metrics(self, bench):
        return list(dict.fromkeys(s["metric"] for s in self.samples if s["bench"] == bench))

    def write(self, path):
        with open(path + ".part", "w") as f:
            json.dump({"schema": 1, "facts": self.facts, "skipped": self.skipped, "samples": self.samples}, f, indent=0)
        os.rename(path + ".part", path)

    def append(self, other):
        """Takes in another part of the same run: its rounds follow those that are here. ValueError where it is another run's."""
        for fact in ("commit", "cpu", "cores", "kernel"):
            if self.facts.get(fact) != other.facts.get(fact):
                raise ValueError(f"{fact} is {self.facts.get(fact)} in one part and {other.facts.get(fact)} in another")
        after = {}
        for s in self.samples:
            after[s["bench"], s["case"]] = max(after.get((s["bench"], s["case"]), 0), s["round"] + 1)
        self.samples += [s | {"round": s["round"] + after.get((s["bench"], s["case"]), 0)} for s in other.samples]
        self.skipped |= other.skipped
        self.facts["seconds"] = self.facts.get("seconds", 0) + other.facts.get("seconds", 0)
        mine, theirs = self.facts.get("noise"), other.facts.get("noise")
        if mine and theirs:
            rounds = mine["rounds"] + theirs["rounds"]
            self.facts["noise"] = {
                **{k: mine[k] + theirs[k] for k in ("rounds", "quiet", "waited_s")},
                **{k: max(mine[k], theirs[k]) for k in ("busy_max", "steal_max")},
                # Of parts only their medians are kept.
                "busy_median": (mine["busy_median"] * mine["rounds"] + theirs["busy_median"] * theirs["rounds"]) / rounds}
        elif theirs:
            self.facts["noise"] = theirs

    @classmethod
    def read(cls, path):
        with open(path) as f:
            data = json.load(f)
        if data["schema"] != 1:
            raise ValueError(f"{path} has schema {data['schema']}, this program reads 1")
        report = cls(data["facts"])
        report.skipped, report.samples = data["skipped"], data["samples"]
        return report
