## make format     clang-format over all sources
## make lint       clang-format check, cppcheck and shellcheck
FORMATTED = $(shell git ls-files '*.cc' '*.h' '*.c')
.PHONY: format lint
format:
	@tools/deps.sh lint
	@clang-format -i $(FORMATTED)
lint:
	@tools/deps.sh lint
	@clang-format --dry-run --Werror $(FORMATTED)
	cppcheck --quiet --error-exitcode=1 --std=c++20 --language=c++ -Iinclude -I. --inline-suppr \
	  --suppress=missingIncludeSystem --enable=warning,performance,portability include transport topology plugin reducer perf
	shellcheck $(shell git ls-files '*.sh') .ci/run tests/conformance/install
