# Conformance: one C program per ABI version that uses the library as NCCL does, and rules for headers and library.
CONF := $(B)/tests/conformance
CONF_OBJ := $(B)/obj/tests/conformance
CONF_PLUGIN := $(foreach v,6 7 8 9 10 11 12,$(CONF)/plugin_v$(v))
CONF_LINK = @mkdir -p $(@D); echo "link $@"; $(CC) -pthread $(SAN) -o $@ $(filter %.o,$^) -ldl $(LDFLAGS)

$(CONF_PLUGIN): $(CONF)/%: $(CONF_OBJ)/%.o $(CONF_OBJ)/harness.o | $(PLUGIN) $(B)/bin/fanin-reducer
	$(CONF_LINK)

# Each header compiles alone, in both languages.
ABI_HEADERS := $(wildcard include/nccl/*.h)
ABI_ALONE := $(ABI_HEADERS:include/nccl/%.h=$(CONF_OBJ)/alone/%.c.o) $(ABI_HEADERS:include/nccl/%.h=$(CONF_OBJ)/alone/%.cc.o)
$(CONF_OBJ)/alone/%.c.o: include/nccl/%.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -x c -c -o $@ $<
$(CONF_OBJ)/alone/%.cc.o: include/nccl/%.h
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS_ALL) -x c++ -c -o $@ $<
$(CONF)/layouts: $(CONF_OBJ)/layouts.o $(ABI_ALONE)
	$(CONF_LINK)

$(CONF_OBJ)/with_nccl.o: CFLAGS_ALL += $(if $(and $(NCCL_INC),$(CUDA_INC)),-DHAVE_NCCL_H $(addprefix -isystem ,$(NCCL_INC) $(CUDA_INC)))
$(CONF)/with_nccl: $(CONF_OBJ)/with_nccl.o
	$(CONF_LINK)

# The library with one version's tables only; the real NCCL is given these (tests/nccl/cases/tables_cases.cc).
# With the tuner of the releases whose newest version that is.
TUNER_OF_v8 := ncclTunerPlugin_v2;
TUNER_OF_v9 := ncclTunerPlugin_v3;
TUNER_OF_v10 := ncclTunerPlugin_v4;
ABI_ONLY := $(foreach v,6 7 8 9 10,$(B)/tests/only_v$(v)/libnccl-net-fanin.so)
$(ABI_ONLY): $(B)/tests/only_v%/libnccl-net-fanin.so: $(PLUGIN_OBJ) $(CORE_OBJ)
	@mkdir -p $(@D); echo "link $@"
	@echo '{ global: ncclNetPlugin_v$*; ncclCollNetPlugin_v$*; $(TUNER_OF_v$*) local: *; };' >$(@D)/exports.map
	@$(CXX) -shared -pthread $(SAN) $(if $(SAN),,-static-libstdc++ -static-libgcc) \
	  -Wl,--version-script=$(@D)/exports.map -o $@ $(filter %.o,$^) $(CORE_LIBS) -ldl -lm $(LDFLAGS)

MORE_TESTS += $(CONF)/layouts $(CONF)/with_nccl tests/conformance/library_rules tests/conformance/install tests/conformance/troubleshooting tests/conformance/left_out $(CONF_PLUGIN)
