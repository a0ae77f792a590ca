# What one asks for by name.

# Set-up comes before all else, while this file is read: it may bring the compiler.
ifneq ($(filter quickstart test,$(MAKECMDGOALS)),)
$(shell tools/setup.sh >&2)
ifneq ($(.SHELLSTATUS),0)
$(error set-up failed)
endif
endif

all: $(BINARIES)
tests: $(TEST_BINARIES)

quickstart: all
	@tools/quickstart.sh

# Each word is one command for run_tests.sh.
TEST_COMMANDS := $(TEST_BINARIES)
test: all tests
	@tests/support/run_tests.sh $(TEST_COMMANDS)

bench: $(BUILD)/bench
	@$(BUILD)/bench

SECONDS ?= 10
fuzz: $(BUILD)/tests/fuzz
	@$< --seconds $(SECONDS) --folder $(BUILD)/fuzz

FORMATTED := $(wildcard $(foreach folder,tensor autograd ops models train tests tools, \
               $(addprefix $(folder)/,*.h *.cpp */*.h */*.cpp)))
format:
	@clang-format -i $(FORMATTED)
check-format:
	@clang-format --dry-run --Werror $(FORMATTED)

clean:
	rm -rf $(BUILD)

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile
