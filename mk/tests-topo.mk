# Tests of fanin-topo run the program; those of the host's topology link hwloc.
$(B)/tests/e2e/topo_cli_test: | $(B)/bin/fanin-topo
$(B)/tests/unit/host_topology_test: $(B)/lib/libfanin-hwloc.a
$(B)/tests/unit/host_topology_test: private LDFLAGS += $(B)/lib/libfanin-hwloc.a $(B)/lib/libfanin-core.a -lhwloc
