#!/usr/bin/env bash
# What make deploy-test runs: the project's own template, built by sam, packaged and deployed by the AWS CLI to ministack, an
# emulator that is not ours, and then used through its REST API. Needs Go; python3 and make are installed where they are
# missing (Debian). No account of AWS is asked for anything.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=infra/checks/tools.sh
source infra/checks/tools.sh

need make make
emulator=$(venv infra/deploytest/emulator.txt)
builder=$(venv infra/checks/validators.txt)
mkdir -p dist/deploytest
go build -o dist/deploytest/driver ./infra/deploytest
exec dist/deploytest/driver -emulator "$emulator/bin" -sam "$builder/bin/sam" "$@"
