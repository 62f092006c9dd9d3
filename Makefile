# `make` prints this file's targets. Only Go is needed, except where a line says so.

GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

FUZZTIME    ?= 20s
CRASH_EVERY ?= 20
BENCH_FLAGS ?=
GROWTH_FLAGS ?=
SOAK_FLAGS  ?=
DEMO_FLAGS  ?=
WEBHOOKS_FLAGS ?=
ALARMS_FLAGS ?=
CONSOLE_FLAGS ?=
SEEDS       ?= 2000
SEED        ?= 0

# What needs a running server is in folders called integration (make integration).
PACKAGES = $$(go list ./... | grep -v /integration)
# The module's own folder holds rules about the text of the tree: nothing there runs beside anything.
CONCURRENT = $$(go list ./... | grep -v -e /integration -e 'holdfast$$')

.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory
.PHONY: help run test race sim sim-plants check lint fix fuzz golden bench growth bench-smoke demo drill soak webhooks alarms readme build clean check-test \
	template integration deploy-test cost conformance openapi interop console-test build-ApiFunction build-StepFunction build-SettleFunction build-StreamFunction build-DeliverFunction build-SweepFunction

help: ## print this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## serve on 127.0.0.1:8080 with the example's systems and a receiver of webhooks; data in .holdfast (or DYNAMODB_ENDPOINT=…)
	DYNAMODB_ENDPOINT=$(DYNAMODB_ENDPOINT) go run ./local serve --systems --receiver

test: ## run every test that needs only Go
	go test $(PACKAGES)

race: ## run the tests under the race detector, long ones in short; needs a C compiler (CRASH_EVERY=n: every nth crash point)
	@command -v gcc >/dev/null || command -v cc >/dev/null || { echo "the race detector needs a C compiler: install gcc, or run make test"; exit 1; }
	@$(call counted,HOLDFAST_CRASH_EVERY=$(CRASH_EVERY) CGO_ENABLED=1,-race -short -timeout 20m,$(CONCURRENT))

check: lint check-test race ## what CI runs: lint, test, race, then everything else, some of it in short
	$(MAKE) fuzz FUZZTIME=3000x
	$(MAKE) sim
	$(MAKE) demo
	$(MAKE) drill
	$(MAKE) soak SOAK_FLAGS="--long 12s"
	$(MAKE) webhooks
	$(MAKE) alarms
	$(MAKE) bench-smoke
	$(MAKE) readme
	$(MAKE) conformance
	$(MAKE) openapi
	$(MAKE) interop
	$(MAKE) console-test CONSOLE_FLAGS="--only '1280 light' --patience 3"
	$(MAKE) template
	$(MAKE) cost
	$(MAKE) integration
	$(MAKE) deploy-test
	@echo "PASS check"

lint: ## vet, format, golangci-lint (built once, about a minute), go.mod and go.sum
	@files=$$(gofmt -l .) && { test -z "$$files" || { echo "gofmt would change: $$files (make fix)"; exit 1; }; }
	go vet ./...
	go vet -tags next ./...
	go fix -diff ./...
	go run $(GOLANGCI) run ./...
	go mod tidy -diff
	go mod verify

fix: ## format, modernise, and let the linters correct what they can
	go fix ./...
	go run $(GOLANGCI) run --fix ./... || true
	gofmt -w .

fuzz: ## fuzz every Fuzz function for a while (FUZZTIME=20s, or a count such as 3000x)
	@mkdir -p dist
	@go test -list '^Fuzz' $(PACKAGES) > dist/fuzz.txt || { cat dist/fuzz.txt; exit 1; }
	@awk '/^Fuzz/ { name[++n] = $$1 } /^ok/ { for (i = 1; i <= n; i++) print $$2, name[i]; n = 0 }' dist/fuzz.txt | \
	while read -r package name; do \
		echo "fuzz $$package $$name $(FUZZTIME)"; \
		go test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x "$$package" < /dev/null || exit 1; \
	done

# Backwards, for local/interop/trace reads what shared/export writes.
golden: ## write the golden files anew; read the difference before you commit it
	@for folder in $$(grep -rlE 'flag\.Bool\("update"' --include='*_test.go' . | xargs -r -n1 dirname | sort -ru); do \
		go test "$$folder" -update || exit 1; \
	done

bench: ## measure tasks per second, latencies, restart, memory, and the functions' cold start (BENCH_FLAGS)
	go run ./local/bench $(BENCH_FLAGS)
	go test -run '^$$' -bench '^BenchmarkInit$$' -benchtime 50x ./infra/boot

growth: ## compare a folder of a million tasks with an empty one: start, lists, load, purge (GROWTH_FLAGS; 4 GB, minutes)
	go run ./local/bench growth $(GROWTH_FLAGS)

bench-smoke: ## run every benchmark once, so that none rots
	go test -run '^$$' -bench . -benchtime 1x $(PACKAGES)
	go run ./local/bench --smoke
	go run ./local/bench growth --smoke

sim: ## run worlds from seeds: crashes, faults, races, deploys, every invariant (SEEDS=2000; SEED=n tells one)
	@mkdir -p dist && go test -c -o dist/simulation.test ./local/simulation
	@cd local/simulation && ../../dist/simulation.test -test.run '^TestSeeds$$' -test.timeout 24h -keep -seeds $(SEEDS) -seed $(SEED)

sim-plants: ## plant bugs, one at a time, and count the seeds until the simulation finds each; a quarter of an hour
	@mkdir -p dist && go test -c -o dist/simulation.test ./local/simulation
	@cd local/simulation && ../../dist/simulation.test -test.run '^TestPlants$$' -test.timeout 24h -plants

demo: ## the access review with kill -9, a redeploy and a broken network; checks itself (DEMO_FLAGS)
	go run ./local/demo $(DEMO_FLAGS)

drill: ## the release drill: T-42 and T-43 with kills, shuffles, races and conflicts, then the export as the only witness
	go run ./local/drill

soak: ## half an hour of mixed load on both ledgers with a SIGKILL every few seconds, then every export verified (SOAK_FLAGS)
	go run ./local/drill soak $(SOAK_FLAGS)
	@eval "$$(infra/emulator/start.sh)" && trap 'infra/emulator/start.sh stop' EXIT && \
	go run ./local/drill soak --beside 4 --rest 250ms --dynamodb-endpoint "$$HOLDFAST_DYNAMODB_ENDPOINT" $(SOAK_FLAGS)

webhooks: ## webhooks whose receivers fail, for seconds and for days; the receivers to copy under attack; a load (WEBHOOKS_FLAGS); installs cryptography
	go run ./local/webhooks $(WEBHOOKS_FLAGS)

alarms: ## break every watched invariant on purpose: its metric, its light and its section of infra/RUNBOOK.md; then mend it; installs a server
	@eval "$$(infra/emulator/start.sh)" && trap 'infra/emulator/start.sh stop' EXIT && \
	go run ./local/alarms $(ALARMS_FLAGS)

readme: build ## run the curl lines of README.md against a fresh server; needs curl and port 8080
	@$(readme)

build: ## build dist/holdfast, and dist/holdfast-next with the example's renamed step
	go build -trimpath -o dist/holdfast ./local
	go build -trimpath -tags next -o dist/holdfast-next ./local

# sam build calls these with ARTIFACTS_DIR (BuildMethod: makefile). One static binary each; GOARCH is the template's
# parameter Architecture in Go's words, arm64 unless it says otherwise.
GOARCH_LAMBDA = $(or $(GOARCH),arm64)
LAMBDA_FLAGS  = -trimpath -buildvcs=false -tags lambda.norpc -ldflags "-s -w -buildid="

build-ApiFunction build-StepFunction build-SettleFunction build-StreamFunction build-DeliverFunction build-SweepFunction: build-%Function:
	@$(if $(ARTIFACTS_DIR),,$(error ARTIFACTS_DIR is where the function goes: sam build sets it))true
	cd functions && CGO_ENABLED=0 GOOS=linux GOARCH=$(GOARCH_LAMBDA) go build $(LAMBDA_FLAGS) \
		-o "$(abspath $(ARTIFACTS_DIR))/bootstrap" ./$$(echo $* | tr A-Z a-z)

template: ## check the SAM templates and the state machine with the tools of their makers; sam build; sizes
	infra/checks/template.sh

deploy-test: ## deploy template.yaml to an emulator of AWS and use it: tour, access review, rolling deploy, deadline
	infra/deploytest/deploy.sh

cost: ## count what a task costs on AWS, against its ceilings, with a DynamoDB-compatible server that this installs
	@eval "$$(infra/emulator/start.sh)" && trap 'infra/emulator/start.sh stop' EXIT && \
	go run ./infra/cost -endpoint "$$HOLDFAST_DYNAMODB_ENDPOINT"

# What a server that refuses one write in twenty can tell about reads, names and notes, one that refuses none has told; and
# races, which take it seven minutes, are run with one that refuses none.
REFUSED_READS = TestLedgerRefused/(races|names|limits|feed|list|due|expired|tenants|acts|quarantine|findings|rejections|acknowledge)|TestLedgerRefused/purge/a_purge_that_dies

integration: ## the adapters, and the compiled functions, against a DynamoDB-compatible server that this installs
	@eval "$$(infra/emulator/start.sh)" && trap 'infra/emulator/start.sh stop' EXIT && \
	go test -p 1 -count=1 -v -short -skip '$(REFUSED_READS)' -timeout 30m ./infra/dynamo/integration ./infra/blobs/integration
	@eval "$$(infra/emulator/start.sh)" && trap 'infra/emulator/start.sh stop' EXIT && \
	go test -parallel 1 -count=1 -v -short -timeout 45m ./infra/integration && \
	DYNAMODB_ENDPOINT="$$HOLDFAST_DYNAMODB_ENDPOINT" go test -count=1 -v -run '^TestLinearizable$$' ./local/simulation

conformance: ## the table of the specification's MUSTs, each with its test; with TCK_DIR the A2A compatibility kit as well
	go run ./local/conformance

openapi: ## a fuzzer of other people's (schemathesis) against a running server, from events/openapi.json; installs it
	go run ./local/openapi

interop: ## the golden traces through the JavaScript SDK, and the official clients against a running server; installs what it needs
	go run ./local/interop

console-test: ## the console in a headless Chromium: every view and action, two widths, both themes, axe (CONSOLE_FLAGS); installs what it needs
	go run ./local/consoletest $(CONSOLE_FLAGS)

clean: ## remove what was built; keeps .holdfast, where your tasks are
	rm -rf dist

check-test:
	@$(call counted,,,$(PACKAGES))

# counted: environment, flags, packages. Runs every test, says how many ran, and prints what failed without the rest.
define counted
mkdir -p dist; \
echo "$(strip $(1) go test $(2)) ./..."; \
if $(1) go test -v $(2) $(3) > dist/test.log 2>&1; then failed=0; else failed=1; \
	grep -vE '^ *(=== |--- PASS|PASS$$|ok  )|no test files' dist/test.log; fi; \
echo "$$(grep -cE '^ *--- PASS' dist/test.log) tests passed, $$(grep -cE '^ *--- FAIL' dist/test.log) failed, $$(grep -cE '^ *--- SKIP' dist/test.log) skipped"; \
exit $$failed
endef

# readme: the code blocks that use curl or make a key run in order in one shell, as a reader would, against a server of its
# own. A stream that was cut on purpose (curl's exit code 28) is no failure; any other exit code is, and so is a refusal.
define readme
rm -rf dist/readme && mkdir -p dist/readme && \
{ echo 'curl() { command curl --fail-with-body "$$@"; rc=$$?; case $$rc in 0|28) ;; *) echo "curl exit $$rc: $$*" >> dist/readme/failed;; esac; return $$rc; }'; \
awk '/^```/ { if (on && block ~ /curl|sha256sum/ && block !~ /make /) printf "%s", block; on = !on; block = ""; next } on { block = block $$0 "\n" }' README.md; echo true; } > dist/readme/lines.sh && \
grep -c 'curl ' dist/readme/lines.sh >/dev/null && \
{ dist/holdfast serve --systems --receiver --data dist/readme/data > dist/readme/server.log 2>&1 & server=$$!; trap "kill $$server 2>/dev/null" EXIT; } && \
until grep -q '^holdfast serves' dist/readme/server.log; do kill -0 $$server 2>/dev/null || { cat dist/readme/server.log; echo "FAIL readme: the server has ended"; exit 1; }; sleep 0.2; done && \
timeout 180 sh dist/readme/lines.sh > dist/readme/out.txt 2>&1 < /dev/null; rc=$$?; \
kill -0 $$server || echo "the server has ended" >> dist/readme/failed; \
if [ $$rc -eq 0 ] && [ ! -s dist/readme/failed ]; then echo "PASS readme"; exit 0; fi; \
cat dist/readme/out.txt dist/readme/failed dist/readme/server.log 2>/dev/null; echo "FAIL readme: exit $$rc"; exit 1
endef
