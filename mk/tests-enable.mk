# Libraries that say they are an NCCL of some release, for tests/e2e/collnet_enable_test.cc.
FAKE_NCCL := $(foreach v,22605 22703 22809,$(B)/tests/libfake_nccl_$(v).so)
$(FAKE_NCCL): $(B)/tests/libfake_nccl_%.so: tests/support/fake_nccl.c
	@mkdir -p $(@D); echo "  LINK $@"
	$(Q)$(CC) $(WARN) -shared -fPIC -DFAKE_VERSION=$* -o $@ $<
$(B)/tests/e2e/collnet_enable_test: | $(FAKE_NCCL) $(ENV_PLUGIN)
