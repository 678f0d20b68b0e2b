# The two commands of the README are `make run` and `make test`.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

COMMIT := $(shell git describe --exclude '*' --always --dirty 2>/dev/null)
# The worker runs in containers of any of these.
WORKERS := linux-amd64 linux-arm64
# plimsoll.exe carries this one too, for Windows itself. It has a folder of its own, so that no other plimsoll does.
WINDOWS := internal/measure/workerbin/windows/worker-windows-amd64
# Programs that only checks use live in a module of their own, so that they are
# no dependencies of Plimsoll.
TOOL := go tool -modfile=$(CURDIR)/tools/go.mod

.PHONY: run test golden build windows check lint cross bench campaign clean setup-run setup-test test-current-docker test-guest test-clean

run: setup-run build ## Measure this machine with the default plan.
	bin/plimsoll run --out .

build: bin/plimsoll ## Make bin/plimsoll.

bin/plimsoll: FORCE workers
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.commit=$(COMMIT)' -o $@ ./cmd/plimsoll

.PHONY: FORCE workers
FORCE:
workers: $(WORKERS:%=internal/measure/workerbin/bin/worker-%) $(WINDOWS)

# Static and stripped: it has to run in an empty container, and travels inside plimsoll.
BUILD_WORKER = CGO_ENABLED=0 GOOS=$(word 1,$(subst -, ,$*)) GOARCH=$(word 2,$(subst -, ,$*)) \
	  go build -trimpath -ldflags '-s -w' -o $@.new ./cmd/worker && \
	  if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
internal/measure/workerbin/bin/worker-% internal/measure/workerbin/windows/worker-%: FORCE
	@$(BUILD_WORKER)

windows: bin/plimsoll.exe ## Make bin/plimsoll.exe, for Windows.
bin/plimsoll.exe: FORCE workers
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 go build -trimpath -ldflags '-s -w -X main.commit=$(COMMIT)' -o $@ ./cmd/plimsoll

# If something is still missing, plimsoll names it and measures the rest.
setup-run:
	@scripts/setup run || echo "going on without it" >&2
setup-test:
	scripts/setup test
	scripts/setup-fio-plot

# A test that fails beside the others gets a second try alone, which is printed. More than three
# failures are not noise.
RERUN = --rerun-fails=1 --rerun-fails-max-failures=3 --rerun-fails-report=out/rerun-$@.txt

# check has run vet on everything; go test would run it again.
test: setup-test build check ## Everything that CI runs.
	mkdir -p out && rm -f out/rerun-$@.txt
	$(TOOL) gotestsum --format pkgname --hide-summary=skipped --jsonfile out/test.json $(RERUN) --packages=./... -- -vet=off -timeout 40m

# The packages whose tests have golden files, and so the flag -update.
GOLDEN = $(patsubst %/,%,$(sort $(dir $(shell grep -rl --include='*_test.go' '"plimsoll/internal/testkit/golden"' .))))
golden: workers ## Write the golden files anew; git diff shows what changed.
	go test -run "$$(go run ./scripts/uses -of plimsoll/internal/testkit/golden $(GOLDEN))" $(GOLDEN) -update

check: lint cross

# Found without git, so that it works in a copy of the sources too.
SOURCES = find . -name '.?*' -prune -o -path ./out -prune -o -path ./bin -prune -o -type f

lint: ## vet, staticcheck, and three linters that find real faults.
	@would=$$($(SOURCES) -name '*.go' -print0 | xargs -0 gofmt -l); test -z "$$would" || { echo "gofmt would change:"; echo "$$would"; exit 1; }
	go vet ./...
	$(TOOL) staticcheck ./...
	$(TOOL) ineffassign ./...
	$(TOOL) go-errorlint -errorf -asserts=false -comparison=false ./...
	$(SOURCES) '(' -name '*.go' -o -name '*.md' -o -name '*.yaml' ')' -print0 | xargs -0 $(TOOL) misspell -error

cross: workers ## All but the Linux-only files builds for other systems.
	GOOS=windows go vet ./...
	GOOS=darwin GOARCH=arm64 go vet ./...
	GOOS=windows go build -o /dev/null ./cmd/plimsoll
	GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/plimsoll
	GOARCH=arm64 go build -o /dev/null ./cmd/plimsoll

# The kernel of virtual machines: the tests', if they have fetched one.
KERNEL = $(wildcard $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/plimsoll/guest/vmlinux)
bench: setup-test build ## Figures side by side with fio, in one run; QUICK=1 leaves the minutes of make run out.
	go run ./cmd/bench load
	scripts/with-dockerd go run ./cmd/bench trial -machines 5 $(KERNEL:%=-kernel %) -quick bin/plimsoll $(if $(QUICK),,-run bin/plimsoll)
	go run ./cmd/bench limit
	go run ./cmd/bench volume
	go test -run '^$$' -bench 'Report.*10k' -benchtime 3x ./internal/measure/report ./cmd/plimsoll

campaign: setup-test build ## The long forms of the slow tests, and all planted lies twice more, in two hours.
	scripts/campaign

# The second round: the current Docker Engine, built once from its modules, for the tests that start a daemon.
DOCKER_TESTS = ./internal/testkit/dockertest ./internal/measure/engine/docker ./internal/limit/engineapi ./internal/limit/keeper ./internal/container/target ./cmd/plimsoll
CURRENT_DOCKER ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/plimsoll/current-docker
test-current-docker: setup-test build
	scripts/setup current
	tools/currentdocker/build.sh $(CURRENT_DOCKER)
	mkdir -p out && rm -f out/rerun-$@.txt
	PLIMSOLL_DOCKERD=$(CURRENT_DOCKER) $(TOOL) gotestsum --format pkgname --hide-summary=skipped --jsonfile out/test-current-docker.json $(RERUN) \
	  --packages="$(DOCKER_TESTS)" -- -count=1 -timeout 20m -run "$$(go run ./scripts/uses -of plimsoll/internal/testkit/dockertest $(DOCKER_TESTS))"

# A second kernel: Linux 6.1 with cgroup version 2 alone, in an emulated machine.
test-guest: workers ## The tests that depend on control groups, in a guest with version 2.
	scripts/setup guest
	scripts/setup-virtiofsd
	scripts/test-guest

test-clean: ## The README's two commands in a bare Debian root.
	scripts/clean-machine

clean:
	rm -rf bin out internal/measure/workerbin/*/worker-*
