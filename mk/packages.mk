## make deb        Debian packages into build/deb: fanin-plugin, fanin-reducer, fanin-tools
## make wheel      a Python wheel of the plugin into build/wheel
.PHONY: deb wheel
deb:
	@tools/deps.sh deb
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@tools/deb.sh
wheel:
	@tools/deps.sh wheel
	@$(MAKE) --no-print-directory -j$(JOBS) $(PLUGIN) $(ENV_PLUGIN) $(B)/bin/fanin-doctor
	@tools/wheel.sh
