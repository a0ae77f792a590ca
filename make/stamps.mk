# Two small files that change when what they hold changes: the flags, on which every object depends,
# and the list of objects, on which the library and every binary depend.

# $(call stamp,content): writes $@, but only if it holds something else.
stamp = mkdir -p $(@D); echo '$(strip $(1))' | cmp -s - $@ || echo '$(strip $(1))' >$@

$(BUILD)/objects: FORCE
	@$(call stamp,$(OBJECTS))

# Before the first compilation, what was found on this machine.
HASH := \#
$(BUILD)/flags: FORCE
	@test -e $@ || { \
	  command -v nvcc >/dev/null && echo "nvcc: found; this version builds for the CPU" \
	    || echo "nvcc: not found; building for the CPU"; \
	  echo '$(HASH)include <nccl.h>' | $(CXX) -E -x c++ - >/dev/null 2>&1 \
	    && echo "NCCL: found; this version trains on one device" \
	    || echo "NCCL: not found; training on one device"; \
	  command -v mpicxx >/dev/null && echo "MPI: found; this version trains in one process" \
	    || echo "MPI: not found; training in one process"; }
	@$(call stamp,$(shell $(CXX) --version 2>&1 | head -n 1) $(FLAGS) $(CXXFLAGS) $(LDFLAGS) \
	  $(LIBS) | $(LIBRARY) | $(AVX2) | $(AVX512) | $(TESTS))
