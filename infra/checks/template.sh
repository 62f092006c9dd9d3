#!/usr/bin/env bash
# What make template runs: everything that others' tools can say about the templates and the state machines, and sam build.
# Needs Go; python3, npm and make are installed where they are missing (Debian). Tools are pinned and kept in a cache.
#
#   validators.txt, npm/    what is installed
#   translated.py           what SAM makes of the template, and what must be in it
#   parsed.py               a second parser for the state machines
#   artifacts.py            what sam build left
#
# What no validator knows (filters, substitutions, variables, reasons for wildcards) is in infra/*_test.go.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=infra/checks/tools.sh
source infra/checks/tools.sh

export SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=eu-west-1
# No account is asked for anything.
export AWS_ACCESS_KEY_ID=none AWS_SECRET_ACCESS_KEY=none AWS_EC2_METADATA_DISABLED=true
out=dist/template

# step TEXT COMMAND…: runs the command and says how long it took.
step() {
	local text=$1 began=$SECONDS
	shift
	"$@"
	say "$text: $((SECONDS - began)) s"
}

tools() {
	need make make
	python=$(venv infra/checks/validators.txt)
	modules=$(node_modules infra/checks/npm)
}

sources() { "$python/bin/cfn-lint" template.yaml infra/*.yaml; }

validate() { "$python/bin/sam" validate --lint --template-file template.yaml; }

translated() {
	"$python/bin/python" infra/checks/translated.py . "$out"
	"$python/bin/cfn-lint" "$out/template.json"
}

machines() {
	local definition
	for definition in statemachine/*.asl.json "$out"/*.asl.json; do
		"$modules/.bin/asl-validator" --json-path "$definition"
	done
	"$python/bin/python" infra/checks/parsed.py "$out"/*.asl.json
}

# In the tree and not in a copy of it: only for speed. sam notes its builds in .aws-sam, which is the user's.
build() {
	local fresh=false
	[ -e .aws-sam ] || fresh=true
	if ! "$python/bin/sam" build --build-in-source --build-dir dist/sam --template-file template.yaml >"$out/build.log" 2>&1; then
		cat "$out/build.log" >&2
		return 1
	fi
	if $fresh; then rm -rf .aws-sam; fi
	"$python/bin/python" infra/checks/artifacts.py dist/sam arm64
}

scripts() {
	if ! command -v shellcheck >/dev/null; then
		say "shellcheck is not installed, scripts are not looked at"
		return
	fi
	shellcheck -x infra/checks/*.sh infra/deploytest/*.sh
}

mkdir -p "$out"
began=$SECONDS
step "tools" tools
step "cfn-lint $("$python/bin/cfn-lint" --version | cut -d ' ' -f 2) on the sources" sources
step "sam validate --lint" validate
step "SAM translation, and cfn-lint on it" translated
step "asl-validator and moto's parser on the state machines" machines
step "sam build" build
step "shellcheck" scripts
say "PASS template in $((SECONDS - began)) s"
