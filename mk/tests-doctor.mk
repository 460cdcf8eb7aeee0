# What fanin-doctor's tests show it: releases of NCCL that only tell their number, another network's plugin, one that lacks
# a library, and fanin's two plugins in folders of their own.
DOCTOR := $(B)/tests/doctor
DOCTOR_RELEASES := 2.12.12 2.21.5 2.27.3 2.28.9
DOCTOR_FILES := $(DOCTOR_RELEASES:%=$(DOCTOR)/%/libnccl.so.2) $(DOCTOR)/other.so $(DOCTOR)/lacking/libnccl-net-fanin.so \
  $(DOCTOR)/net/libnccl-net-fanin.so $(DOCTOR)/env/libnccl-env.so
$(B)/tests/e2e/doctor_test: | $(DOCTOR_FILES)
$(DOCTOR)/%/libnccl.so.2: tests/doctor/stub_nccl.c
	@mkdir -p $(@D)
	@$(CC) -shared -fPIC -DRELEASE=$$(echo $* | awk -F. '{print $$1 * 10000 + $$2 * 100 + $$3}') -Wl,-soname,libnccl.so.2 -o $@ $<
$(DOCTOR)/other.so: tests/doctor/other_net.c
	@mkdir -p $(@D)
	@$(CC) -shared -fPIC -o $@ $<
$(DOCTOR)/lacking/libnccl-net-fanin.so: tests/doctor/other_net.c $(DOCTOR)/other.so
	@mkdir -p $(@D)
	@$(CC) -shared -fPIC -Wl,-soname,libfanin-missing.so -o $(DOCTOR)/stub.so $<
	@$(CC) -shared -fPIC -Wl,--no-as-needed -o $@ $< $(DOCTOR)/stub.so
	@rm $(DOCTOR)/stub.so
$(DOCTOR)/net/libnccl-net-fanin.so: $(PLUGIN)
$(DOCTOR)/env/libnccl-env.so: $(ENV_PLUGIN)
$(DOCTOR)/net/libnccl-net-fanin.so $(DOCTOR)/env/libnccl-env.so:
	@mkdir -p $(@D)
	@cp $< $@
$(B)/tests/unit/doctor_limits_test: $(B)/obj/perf/doctor/limits_check.o $(B)/obj/perf/doctor/finding.o
