# The benchmark suite: its parts, and a run of seconds. Not under sanitizers, whose speed says nothing.
MORE_TESTS += tests/perf/suite_unit
ifeq ($(MODE),release)
MORE_TESTS += tests/perf/suite_smoke
tests: $(B)/perf/ideal-ring $(B)/perf/bare-tcp $(B)/perf/fanin-scale
else
LEFT_OUT_perf := the benchmark suite left out: the speed of a build with a sanitizer says nothing
MORE_TESTS += $(B)/tests/left-out/perf
endif
