# loopless: training recurrent networks without unrolling them.
#
#   make               builds every binary: build/train_smt, build/generate, ...
#   make quickstart    installs what is missing, builds, trains a small model, shows what it learnt
#   make test          installs what is missing, builds, runs all tests
#   make bench         builds and runs the benchmarks
#   make fuzz          feeds damaged files to the readers of files; SECONDS=10
#   make format        formats all C++ sources; make check-format only says which differ
#   make clean         removes what was built
#   make help          prints this table
#
#   make CXX=clang++ BUILD=build/clang    another compiler, in a folder of its own
#   make SANITIZE=1                       AddressSanitizer and UBSan, in build/asan
#   make WERROR=1                         a warning is an error
#
# SANITIZE and the others go with test and bench too: make test SANITIZE=1.

# One binary for each of these, named like it. Every other .cpp is library code, found by wildcard.
MAINS := train/train_smt.cpp train/train_dmt.cpp train/train_bptt.cpp \
         tools/generate.cpp tools/evaluate.cpp tools/inspect.cpp tools/bench.cpp \
         tools/step.cpp

BUILD ?= $(if $(SANITIZE),build/asan,build)
OBJ   := $(BUILD)/obj
LIB   := $(BUILD)/libloopless.a

# All cores, unless -j says otherwise.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

.PHONY: all tests quickstart test bench fuzz format check-format clean help FORCE
.DELETE_ON_ERROR:
all:

# --- flags ----------------------------------------------------------------------------------------

OPTIMIZE  := -O3
TEST_LIBS := -lgtest_main -lgtest
LIBS      := -ldnnl -lpng -lz
FLAGS     := -std=c++20 -g -Wall -Wextra -fopenmp -I.
ifdef WERROR
FLAGS += -Werror
endif
ifdef SANITIZE
OPTIMIZE := -O1
# The checks that sanitizers insert make g++ warn of library code (std::regex), and clang of loops
# that they keep from being vectorised.
FLAGS    += -Wno-$(if $(findstring clang,$(CXX)),pass-failed,maybe-uninitialized)
FLAGS    += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif

# Two flags let the compiler vectorise sqrt and selections. They drop errno and the floating-point
# exception flags, which nobody reads; no value changes.
KERNEL  := $(OPTIMIZE) -fno-math-errno -fno-trapping-math
BASE    := -march=x86-64-v3
AVX2    := $(KERNEL) $(BASE) -DLOOPLESS_ISA=avx2
AVX512  := $(KERNEL) -march=x86-64-v4 -mprefer-vector-width=512 -DLOOPLESS_ISA=avx512
LIBRARY := $(OPTIMIZE) $(BASE)
TESTS   := -O1 $(BASE)

# --- sources and objects --------------------------------------------------------------------------

objects = $(patsubst %.cpp,$(1)/%.o,$(2))

SOURCES := $(filter-out $(MAINS),$(wildcard $(foreach folder,tensor autograd ops models train, \
             $(folder)/*.cpp $(folder)/*/*.cpp) tools/*.cpp))
KERNELS := $(filter %_cpu.cpp,$(SOURCES))
BENCHES := $(wildcard tools/bench/*.cpp)
# Refuses to start on a processor without AVX2: linked as an object, since nothing refers to it.
CHECK   := tensor/isa_check.cpp

LIB_OBJECTS := $(call objects,$(OBJ),$(filter-out $(KERNELS) $(CHECK),$(SOURCES))) \
               $(call objects,$(OBJ)/avx2,$(KERNELS)) $(call objects,$(OBJ)/avx512,$(KERNELS))
BINARIES    := $(patsubst %.cpp,$(BUILD)/%,$(notdir $(MAINS)))

# tests/ops/*.cpp make build/tests/test_ops, and so on; tests/support/ goes into each of them.
# tests/fuzz/*.cpp make build/tests/fuzz.
FUZZ_SOURCES  := $(wildcard tests/fuzz/*.cpp)
TEST_SOURCES  := $(filter-out $(FUZZ_SOURCES),$(wildcard tests/*/*.cpp))
TEST_FOLDERS  := $(filter-out support,$(patsubst tests/%/,%,$(sort $(dir $(TEST_SOURCES)))))
TEST_BINARIES := $(TEST_FOLDERS:%=$(BUILD)/tests/test_%)
TEST_OBJECTS  := $(call objects,$(OBJ),$(TEST_SOURCES))

OBJECTS := $(LIB_OBJECTS) $(TEST_OBJECTS) \
           $(call objects,$(OBJ),$(MAINS) $(BENCHES) $(CHECK) $(FUZZ_SOURCES))

# --- compiling and linking ------------------------------------------------------------------------

# $(call compile,flags,remark)
define compile
@echo "CXX $<$(2)"; mkdir -p $(@D)
@$(CXX) $(FLAGS) $(1) $(CXXFLAGS) -MMD -MP -c $< -o $@
endef

$(OBJECTS): $(BUILD)/flags
$(OBJ)/%.o: %.cpp
	$(call compile,$(LIBRARY))
$(OBJ)/avx2/%.o: %.cpp
	$(call compile,$(AVX2), (avx2))
$(OBJ)/avx512/%.o: %.cpp
	$(call compile,$(AVX512), (avx512))
$(OBJ)/tests/%.o: tests/%.cpp
	$(call compile,$(TESTS))
$(call objects,$(OBJ),$(CHECK)): $(CHECK)
	$(call compile,$(OPTIMIZE) -march=x86-64)
-include $(OBJECTS:.o=.d)

$(LIB): $(LIB_OBJECTS) $(BUILD)/objects
	@rm -f $@; ar rcsT $@ $(LIB_OBJECTS)

# $(call link,libraries)
define link
@echo "LINK $@"; mkdir -p $(@D)
@$(CXX) $(FLAGS) $(LDFLAGS) $(filter %.o,$^) $(LIB) $(1) $(LIBS) -o $@
endef

$(foreach main,$(MAINS),$(eval \
  $(BUILD)/$(basename $(notdir $(main))): $(call objects,$(OBJ),$(main))))
$(BUILD)/bench: $(call objects,$(OBJ),$(BENCHES))
$(foreach folder,$(TEST_FOLDERS),$(eval $(BUILD)/tests/test_$(folder): \
  $(call objects,$(OBJ),$(filter tests/$(folder)/% tests/support/%,$(TEST_SOURCES)))))
$(BUILD)/tests/fuzz: $(call objects,$(OBJ),$(FUZZ_SOURCES))
$(BINARIES) $(TEST_BINARIES) $(BUILD)/tests/fuzz: $(call objects,$(OBJ),$(CHECK)) $(LIB) $(BUILD)/objects
$(BINARIES):
	$(call link)
$(TEST_BINARIES) $(BUILD)/tests/fuzz:
	$(call link,$(TEST_LIBS))

include make/stamps.mk make/targets.mk
