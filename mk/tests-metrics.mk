## make browser    the status page under load in headless Chromium (100 MB of packages), and its picture into docs/images/
MORE_TESTS += tests/metrics/page tests/metrics/dashboard
.PHONY: browser
browser:
	@tools/deps.sh browser
	@$(MAKE) --no-print-directory -j$(JOBS) $(PLUGIN) $(B)/bin/fanin-reducer $(B)/bin/fanin-perf
	@tests/metrics/browser docs/images/status.png
