# The job specifications of deploy/, run in namespaces that play the nodes.
ifeq ($(MODE),release)
MORE_TESTS += $(addprefix tests/deploy/,consistency jobset pytorchjob shared_pool slurm vertex vertex_mistakes)
tests: build/deploy-python/ready
build/deploy-python/ready: mk/tests-deploy.mk
	@python3 -m venv build/deploy-python
	@build/deploy-python/bin/python -m pip install --quiet --disable-pip-version-check kubernetes-validate pyyaml
	@touch $@
else
LEFT_OUT_deploy := job specifications left out: they start the programs of a release build
MORE_TESTS += $(B)/tests/left-out/deploy
endif
