"""The report as text: one table per benchmark, then the goals. The same rows for a terminal and for Markdown."""
# Metrics whose spread is worth a column of its own.
SPREAD = {"algbw/link", "algbw GB/s", "CPU-s/GB", "p50 us", "connect s"}


def number(value):
    """Three significant digits, or a whole number."""
    if value is None:
        return "-"
    if float(value).is_integer() and abs(value) < 1e6:
        return str(int(value))
    magnitude = abs(value)
    return f"{value:.0f}" if magnitude >= 100 else f"{value:.1f}" if magnitude >= 10 else f"{value:.2f}" if magnitude >= 2 else f"{value:.3f}"


def bench_rows(report, bench):
    """Header and rows of text cells."""
    metrics = report.metrics(bench)
    header = ["case", ""]
    for metric in metrics:
        header += [metric, "min–max"] if metric in SPREAD else [metric]
    header.append("quiet")
    rows = []
    for case, peer in report.rows(bench):
        row = [case, peer]
        for metric in metrics:
            values = report.values(bench, case, peer, metric)
            # Retransmits are counted, not averaged: the sum of all rounds.
            row.append(number(sum(values) if metric == "retransmits" and values else report.median(bench, case, peer, metric)))
            if metric in SPREAD:
                row.append(f"{number(min(values))}–{number(max(values))}" if len(values) > 1 else "")
        rows.append(row + ["{} of {}".format(*report.rounds(bench, case, peer))])
    return header, rows


def goal_rows(goals):
    header = ["goal", "", "value", "", "note"]
    return header, [[g.what, f"{'≥' if g.at_least else '≤'} {g.limit:g}", number(g.value),
                     "met" if g.met else "MISSED" if g.value is not None else "not measured", g.note] for g in goals]


def plain(header, rows):
    widths = [max(len(r[i]) for r in [header] + rows) for i in range(len(header))]
    def line(row):
        return "  ".join(cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))).rstrip()
    return "\n".join([line(header)] + [line(r) for r in rows])


def markdown(header, rows):
    def line(row):
        return "| " + " | ".join(row) + " |"
    return "\n".join([line(header), "|" + "---|" * 2 + "---:|" * (len(header) - 2)] + [line(r) for r in rows])


def noise_line(facts):
    seen = facts.get("noise", {})
    if not seen:
        return ""
    return (f"{seen['quiet']} of {seen['rounds']} rounds were quiet (others used less than 15 % of the CPUs just before, less than 2 % stolen by "
            f"the hypervisor); just before a round the machine was busy {seen['busy_median']:.1%} in the median, {seen['busy_max']:.0%} at most, "
            f"stolen {seen['steal_max']:.1%} at most; waited {seen['waited_s']:.0f} s for quiet.")


def facts_line(facts):
    return (f"Commit {facts.get('commit')}, {facts.get('date')}; {facts.get('cpu')}, {facts.get('cores')} cores, "
            f"{facts.get('memory_MiB')} MiB, Linux {facts.get('kernel')}; {facts.get('seconds', 0):.0f} s.")


def text(report, goals, as_markdown=False):
    render = markdown if as_markdown else plain
    parts = [facts_line(report.facts), noise_line(report.facts)]
    if report.facts.get("smoke"):
        parts.insert(0, "A smoke run: everything once and tiny. Its figures mean nothing, and no goal is judged by them.")
    for name, why in report.skipped.items():
        parts.append(f"Interrupted: {why}." if name == "interrupted" else f"Left out: {name} ({why}).")
    parts.append(("### Goals\n\n" if as_markdown else "== goals\n") + render(*goal_rows(goals)))
    for bench in report.benches():
        parts.append((f"### {bench}\n\n" if as_markdown else f"== {bench}\n") + render(*bench_rows(report, bench)))
    return "\n\n".join(p for p in parts if p) + "\n"
