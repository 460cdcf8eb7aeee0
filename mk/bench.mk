## make bench      the benchmarks of docs/performance.md: one table, build/bench/report.json and .svg (BENCH="..." goes to perf/suite/bench.py)
## make profile    where the time goes, instructions per MB (needs valgrind; writes perf/profile/table.md)
# Yardsticks and instruments, none of them installed. Peers that are not on this machine are left out, and the table says so.
PEER_OBJ := $(call objects,$(wildcard perf/peers/*.cc))
$(B)/lib/libfanin-peer.a: $(PEER_OBJ)
PEER_LIBS := $(B)/lib/libfanin-peer.a $(B)/lib/libfanin-perf.a $(B)/lib/libfanin-core.a
BENCH_PROGRAMS := $(addprefix $(B)/perf/,ideal-ring bare-tcp fanin-scale)

CXXFLAGS_perf/ideal_ring := -O3
$(B)/perf/ideal-ring: $(call objects,$(wildcard perf/ideal_ring/*.cc)) $(PEER_LIBS)
	$(LINK) $(CORE_LIBS) $(LDFLAGS)
$(B)/perf/bare-tcp: $(call objects,$(wildcard perf/bare_tcp/*.cc)) $(B)/lib/libfanin-perf.a $(B)/lib/libfanin-core.a
	$(LINK) $(CORE_LIBS) $(LDFLAGS)
$(B)/perf/fanin-scale: $(call objects,$(wildcard perf/scale/*.cc)) $(B)/lib/libfanin-perf.a $(B)/lib/libfanin-core.a
	$(LINK) $(CORE_LIBS) -ldl $(LDFLAGS)

ifneq ($(wildcard /usr/include/gloo/allreduce.h),)
BENCH_PROGRAMS += $(B)/perf/gloo-allreduce
endif
CXXFLAGS_perf/gloo := -Wno-unused-parameter
$(B)/perf/gloo-allreduce: $(call objects,perf/gloo/main.cc) $(PEER_LIBS)
	$(LINK) $(CORE_LIBS) -lgloo $(LDFLAGS)

MPI_LIBS := $(shell pkg-config --libs ompi-c 2>/dev/null)
ifneq ($(and $(MPI_LIBS),$(shell command -v mpirun 2>/dev/null)),)
BENCH_PROGRAMS += $(B)/perf/mpi-allreduce
endif
# The C interface only.
CXXFLAGS_perf/mpi := -DOMPI_SKIP_MPICXX $(patsubst -I%,-isystem %,$(shell pkg-config --cflags ompi-c 2>/dev/null))
$(B)/perf/mpi-allreduce: $(call objects,perf/mpi/main.cc) $(PEER_LIBS)
	$(LINK) $(CORE_LIBS) $(MPI_LIBS) $(LDFLAGS)

.PHONY: bench-programs bench profile
bench-programs: all $(B)/bin/fanin-bench-kernels $(BENCH_PROGRAMS) $(if $(HAVE_CPUDEV),$(B)/cpudev/libcpudev.so)
bench:
	@tools/deps.sh bench
	@$(MAKE) --no-print-directory -j$(JOBS) bench-programs
	@python3 perf/suite/bench.py --build $(B) --doc docs/performance.md $(BENCH)
profile:
	@tools/deps.sh profile
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@python3 perf/profile/profile.py --build $(B)
