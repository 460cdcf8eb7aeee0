## make            build everything: plugin, reducer, fanin-ctl, fanin-perf and, where CUDA and NCCL are found, fanin-nccl-perf
## make install    into $(DESTDIR)$(PREFIX)
## make clean      remove build/
# A library is all .cc files of its folder but *main.cc; a program is its *main.cc and the libraries it names.
sources = $(filter-out %main.cc,$(foreach d,$(1),$(wildcard $(d)/*.cc $(d)/*/*.cc)))
objects = $(patsubst %.cc,$(B)/obj/%.o,$(patsubst %.c,$(B)/obj/%.o,$(1)))

CORE_OBJ := $(call objects,$(filter-out topology/cli/% topology/host/linked.cc,$(call sources,include transport topology)))
PLUGIN_OBJ := $(call objects,$(call sources,plugin))
TOPO_OBJ := $(call objects,$(wildcard topology/cli/*.cc))
REDUCER_OBJ := $(call objects,$(call sources,reducer))
CTL_OBJ := $(call objects,$(call sources,ctl))
PERF_OBJ := $(call objects,$(filter-out %main.cc,$(wildcard perf/common/*.cc perf/fanin_perf/*.cc)))
SUPPORT_OBJ := $(call objects,$(wildcard tests/support/*.cc))

# Kernels are inlined deep and compiled once per SIMD level: line tables are debug information enough, and under a
# sanitizer -O2 would take minutes; they parse nothing, and clang needs minutes each for instrumented ones.
CXXFLAGS_reducer/kernels := -g1 $(if $(SAN),-O1) $(if $(filter fuzz,$(MODE)),-fno-sanitize=all)
# Highway includes them through a system header, below which -MMD sees no dependencies.
$(call objects,$(wildcard reducer/kernels/*.cc)): $(wildcard reducer/kernels/*.h)

# In the program by .incbin, which -MMD does not see.
$(call objects,reducer/metrics/page.cc): reducer/metrics/page.html

# Static: the plugin may need nothing but libc, and a reducer's image less.
CORE_LIBS := -l:libsodium.a

PLUGIN := $(B)/lib/libnccl-net-fanin.so
ARCHIVES := $(B)/lib/libfanin-ctl.a $(B)/lib/libfanin-plugin.a $(B)/lib/libfanin-reducer.a $(B)/lib/libfanin-core.a

$(B)/obj/%.o: %.cc
	@mkdir -p $(@D)
	@echo "  CXX $<"
	$(Q)$(CXX) $(CXXFLAGS_ALL) $(CXXFLAGS_$(<D)) $(CXXFLAGS_$<) -c -o $@ $<
$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC $<"
	$(Q)$(CC) $(CFLAGS_ALL) -c -o $@ $<

$(B)/lib/libfanin-core.a: $(CORE_OBJ)
$(B)/lib/libfanin-plugin.a: $(PLUGIN_OBJ)
$(B)/lib/libfanin-reducer.a: $(REDUCER_OBJ)
$(B)/lib/libfanin-topo.a: $(TOPO_OBJ)
$(B)/lib/libfanin-ctl.a: $(CTL_OBJ)
# hwloc as programs have it; the plugin opens it where it is.
$(B)/lib/libfanin-hwloc.a: $(call objects,topology/host/linked.cc)
$(B)/lib/libfanin-perf.a: $(PERF_OBJ)
$(B)/lib/libfanin-test.a: $(SUPPORT_OBJ)
$(B)/lib/%.a:
	@mkdir -p $(@D)
	@rm -f $@
	@echo "  AR $@"
	$(Q)ar rcs $@ $^

# The plugin is a guest: nothing but libc in NEEDED, nothing but the tables exported.
PLUGIN_LINK := -static-libstdc++ -static-libgcc -Wl,--version-script=plugin/abi/exports.map -Wl,-z,defs,-z,relro,-z,now \
  -Wl,--exclude-libs,ALL -Wl,-soname,libnccl-net-fanin.so
$(PLUGIN): $(PLUGIN_OBJ) $(CORE_OBJ) plugin/abi/exports.map
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CXX) -shared -pthread $(SAN) $(if $(SAN),-Wl$(comma)--version-script=plugin/abi/exports.map,$(PLUGIN_LINK)) -o $@ \
	  $(PLUGIN_OBJ) $(CORE_OBJ) $(CORE_LIBS) -ldl -lm $(LDFLAGS)
comma := ,
# Opened by every NCCL that finds it: C, and nothing but libc.
ENV_PLUGIN := $(B)/lib/libnccl-env.so
$(ENV_PLUGIN): $(call objects,plugin/env/nccl_env.c)
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) -shared -pthread $(SAN) -Wl,-z,relro,-z,now$(if $(SAN),,$(comma)-z$(comma)defs) -Wl,-soname,libnccl-env.so -o $@ $^ -ldl $(LDFLAGS)

LINK = @mkdir -p $(@D); echo "  LINK $@"; $(CXX) -pthread $(SAN) -Wl,-z,relro,-z,now -o $@ $(filter %.o %.a %.so,$^)
$(B)/bin/fanin-reducer: $(call objects,reducer/main.cc) $(B)/lib/libfanin-reducer.a $(B)/lib/libfanin-hwloc.a \
    $(B)/lib/libfanin-core.a
	$(LINK) $(CORE_LIBS) -lhwy -lhwloc $(LDFLAGS)
$(B)/bin/fanin-ctl: $(call objects,ctl/main.cc) $(B)/lib/libfanin-ctl.a $(B)/lib/libfanin-reducer.a $(B)/lib/libfanin-core.a
	$(LINK) $(CORE_LIBS) $(LDFLAGS)
$(B)/bin/fanin-topo: $(call objects,topology/main.cc) $(B)/lib/libfanin-topo.a $(B)/lib/libfanin-plugin.a \
    $(B)/lib/libfanin-hwloc.a $(B)/lib/libfanin-core.a
	$(LINK) $(CORE_LIBS) -lhwloc $(LDFLAGS)
$(B)/bin/fanin-perf: $(call objects,perf/fanin_perf/main.cc) $(B)/lib/libfanin-perf.a \
    $(B)/lib/libfanin-reducer.a $(B)/lib/libfanin-core.a
	$(LINK) $(CORE_LIBS) -lhwy -ldl $(LDFLAGS)
$(B)/bin/fanin-bench-kernels: $(call objects,$(wildcard perf/kernels/*.cc)) $(B)/lib/libfanin-reducer.a $(B)/lib/libfanin-core.a
	$(LINK) $(CORE_LIBS) -lbenchmark -lhwy $(LDFLAGS)
# Not /usr/include: named with -isystem it would hide the C++ library from #include_next.
CXXFLAGS_perf/nccl_perf := $(addprefix -isystem ,$(filter-out /usr/include,$(sort $(CUDA_INC) $(NCCL_INC))))
$(B)/bin/fanin-nccl-perf: $(call objects,$(wildcard perf/nccl_perf/*.cc)) $(B)/lib/libfanin-perf.a $(B)/lib/libfanin-core.a
	$(LINK) $(NCCL_SO) $(firstword $(wildcard $(CUDA_LIB)/libcudart.so $(CUDA_LIB)/libcudart.so.*)) \
	  -Wl,-rpath,$(dir $(NCCL_SO)) -Wl,-rpath,$(CUDA_LIB) $(CORE_LIBS) $(LDFLAGS)

# For any training image: like the plugin it looks at, it needs only libc.
$(B)/bin/fanin-doctor: $(call objects,$(wildcard perf/doctor/*.cc) $(if $(SAN),,plugin/abi/older_glibc.cc)) $(B)/lib/libfanin-perf.a $(B)/lib/libfanin-plugin.a \
    $(B)/lib/libfanin-reducer.a $(B)/lib/libfanin-core.a
	$(LINK) $(if $(SAN),,-static-libstdc++ -static-libgcc) $(CORE_LIBS) -lhwy -ldl $(LDFLAGS)

PROGRAMS := $(B)/bin/fanin-reducer $(B)/bin/fanin-ctl $(B)/bin/fanin-topo $(B)/bin/fanin-doctor \
  $(B)/bin/fanin-perf $(if $(HAVE_NCCL),$(B)/bin/fanin-nccl-perf)
.PHONY: all install clean
all: $(PLUGIN) $(ENV_PLUGIN) $(PROGRAMS)

install: all
	install -d $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(PLUGIN) $(DESTDIR)$(PREFIX)/lib
	install -d $(DESTDIR)$(PREFIX)/lib/fanin/env $(DESTDIR)$(PREFIX)/share/fanin
	install -m 755 $(ENV_PLUGIN) $(DESTDIR)$(PREFIX)/lib/fanin/env
	install -m 644 deploy/nccl.conf $(DESTDIR)$(PREFIX)/share/fanin
	install -m 755 $(PROGRAMS) $(DESTDIR)$(PREFIX)/bin

clean:
	rm -rf build

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
