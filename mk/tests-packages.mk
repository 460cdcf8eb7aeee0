# The packages in a minimal Debian system of their own. They hold what a release build makes, whatever the mode of the tests.
ifeq ($(MODE),release)
MORE_TESTS += tests/packages/deb tests/packages/wheel tests/packages/containers
tests: $(if $(filter 0,$(shell id -u)),build/rootfs)
# A path, into a cache that outlives build/; fetched while everything else compiles.
build/rootfs:
	@tests/packages/rootfs $@
else
LEFT_OUT_packages := packages left out: they hold what a release build makes
MORE_TESTS += $(B)/tests/left-out/packages
endif
