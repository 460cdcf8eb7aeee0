"""An SVG of the figures that compare: bars with min-max whiskers, one panel each. Standard library only."""
import statistics
from xml.sax.saxutils import escape

COLORS = {"fanin": "#1b6ca8", "our ring (ncclNet)": "#e07b39", "ideal TCP ring": "#8a8a8a", "Gloo ring": "#6a9f58", "Open MPI": "#a05195",
          "ring over our net": "#e07b39", "ring over Socket": "#8a8a8a"}
SPARE = ["#b5a642", "#5f9ea0", "#c06c84", "#355c7d"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 250, 60, 190, 34, 40


def panel(report, bench, metric, cases, title, top, limits=()):
    """One panel as SVG text; limits are (value, label) of dashed lines. Empty without values."""
    peers = list(dict.fromkeys(p for c, p in report.rows(bench) if c in cases and report.values(bench, c, p, metric)))
    found = [c for c in cases if any(report.values(bench, c, p, metric) for p in peers)]
    if not found:
        return ""
    spare = iter(SPARE * 4)
    color = {p: COLORS.get(p) or next(spare) for p in peers}
    highest = max([max(report.values(bench, c, p, metric), default=0) for c in found for p in peers] + [v for v, _ in limits])
    scale = (HEIGHT - TOP - BOTTOM) / (highest * 1.05 or 1)
    base = top + HEIGHT - BOTTOM
    out = [f'<text x="{LEFT}" y="{top + 18}" font-weight="bold">{escape(title)}</text>',
           f'<line x1="{LEFT}" y1="{base}" x2="{WIDTH - RIGHT}" y2="{base}" stroke="#333"/>']
    for i in range(5):
        value = highest * i / 4
        out.append(f'<text x="{LEFT - 6}" y="{base - value * scale + 4:.1f}" text-anchor="end">{value:.2g}</text>')
    for value, label in limits:
        y = base - value * scale
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#999" stroke-dasharray="4 3"/>')
        out.append(f'<text x="{WIDTH - RIGHT + 4}" y="{y + 4:.1f}" fill="#666">{escape(label)}</text>')
    slot = (WIDTH - LEFT - RIGHT) / len(found)
    bar = slot * .8 / len(peers)
    for k, case in enumerate(found):
        x0 = LEFT + slot * (k + .1)
        out.append(f'<text x="{x0 + slot * .4:.1f}" y="{base + 16}" text-anchor="middle">{escape(case)}</text>')
        for j, peer in enumerate(peers):
            values = report.values(bench, case, peer, metric)
            if not values:
                continue
            middle, x = statistics.median(values), x0 + j * bar
            out.append(f'<rect x="{x:.1f}" y="{base - middle * scale:.1f}" width="{bar * .9:.1f}" height="{middle * scale:.1f}" '
                       f'fill="{color[peer]}"><title>{escape(f"{case}, {peer}: {middle:.4g}")}</title></rect>')
            xm = x + bar * .45
            out.append(f'<line x1="{xm:.1f}" y1="{base - min(values) * scale:.1f}" x2="{xm:.1f}" y2="{base - max(values) * scale:.1f}" stroke="#111"/>')
    for j, peer in enumerate(peers):
        y = top + 50 + 18 * j
        out.append(f'<rect x="{WIDTH - RIGHT + 60}" y="{y - 9}" width="10" height="10" fill="{color[peer]}"/>')
        out.append(f'<text x="{WIDTH - RIGHT + 74}" y="{y}">{escape(peer)}</text>')
    return "\n".join(out)


def svg(report):
    """The whole picture; panels without values are left out."""
    def cases(bench, pick=lambda case: True):
        return list(dict.fromkeys(c for c, _ in report.rows(bench) if pick(c)))

    n = 5
    ring = .956 * n / (2 * (n - 1))
    wanted = [
        ("lab", "algbw/link", cases("lab"), "lab: algbw / link rate, 5 workers, 5 reducers", [(.956, "limit"), (ring, "ring's limit")]),
        ("nccl-lab", "algbw/link", cases("nccl-lab"), "nccl-lab: the real NCCL, algbw / link rate", [(.956, "limit"), (ring, "ring's limit")]),
        ("nccl-lab", "algbw GB/s", cases("nccl-lab"), "NCCL's ring on loopback, GB/s", []),
        ("loses", "algbw/link", cases("loses"), "loses: fewer reducers than workers, algbw / link rate", [(ring, "ring's limit")]),
        ("loses", "p50 us", cases("loses"), "loses: small messages on unshaped links, microseconds", []),
        ("cpu", "CPU-s/GB", cases("cpu"), "cpu: CPU seconds per GB on loopback", []),
        ("latency", "p50 us", cases("latency"), "latency: one message there and back, microseconds", []),
        ("scale", "reducer in GB/s", cases("scale"), "scale: workers x rails on one reducer lane, GB/s in", []),
    ]
    parts, top = [], 0
    for bench, metric, found, title, limits in wanted:
        part = panel(report, bench, metric, found, title, top, limits)
        if part:
            parts.append(part)
            top += HEIGHT
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top or HEIGHT}" font-family="sans-serif" font-size="11">\n'
            f'<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")
