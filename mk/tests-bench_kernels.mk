# Tests of fanin-bench-kernels: its table alone, and the program.
$(B)/tests/unit/perf_kernel_summary_test: $(B)/obj/perf/kernels/summary.o
$(B)/tests/e2e/bench_kernels_test: | $(B)/bin/fanin-bench-kernels
