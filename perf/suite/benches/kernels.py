"""kernels: fanin-bench-kernels, every sum against a memory loop over the same buffers. Also what the float sum costs a reducer per GB."""
import json
import statistics

from context import Failed

NAME = "kernels"
GROUPS = {"float double ints": ("int8", "uint8", "int32", "uint32", "int64", "uint64", "float", "double"),
          "half bfloat16": ("half", "bfloat16"), "fp8": ("f8e4m3", "f8e5m2")}


def run(context):
    program = context.program("fanin-bench-kernels")
    if not program:
        raise Failed("not built: no Google Benchmark (libbenchmark-dev)")
    quiet = context.quiet.wait()
    context.say("kernels")
    out = context.path("kernels.json")
    context.run([program, "--summary", f"--benchmark_out={out}", "--benchmark_out_format=json",
                 "--benchmark_filter=" + ("^l2/sum/float/n=2" if context.smoke else "^l2/|^dram/sum/")], timeout=200)
    with open(out) as f:
        cases = json.load(f)["benchmarks"]
    ratios = {}
    for case in cases:
        where, op, kind, n = case["name"].split("/")[:4]
        group = next((g for g, kinds in GROUPS.items() if kind in kinds), kind)
        if "ratio" in case:
            ratios.setdefault((where, group, op), []).append(case["ratio"])
        if (where, op, kind) == ("l2", "sum", "float") and "GB/s" in case:
            # GB/s counts n reads and 1 write; a reducer's cost per GB of one rank's bytes:
            inputs = int(n.split("=")[1])
            context.report.add(NAME, "l2 sum", "float", f"CPU-s/GB {n}", (inputs + 1) / inputs / case["GB/s"], quiet=quiet)
    for (where, group, op), values in ratios.items():
        context.report.add(NAME, f"{where} {op}", group, "ratio, least", min(values), quiet=quiet)
        context.report.add(NAME, f"{where} {op}", group, "ratio, median", statistics.median(values), quiet=quiet)
