# Its end-to-end test runs the program.
$(B)/tests/e2e/topo_cli_test: | $(B)/bin/fanin-topo
