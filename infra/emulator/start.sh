#!/bin/sh
# Installs and starts ministack, the DynamoDB- and S3-compatible server that the integration tests run against.
# It needs python3 (3.10 or newer); on Debian it installs python3-venv where that is missing. Everything is kept in a
# cache folder, the data in memory.
#
#   infra/emulator/start.sh          start, unless it runs; print the lines that tell the tests
#   infra/emulator/start.sh stop     stop what this script has started
#   eval "$(infra/emulator/start.sh)" && go test ./infra/dynamo/integration ./infra/blobs/integration
#
# HOLDFAST_EMULATOR_PORT is its port on 127.0.0.1 (4566), HOLDFAST_EMULATOR_CACHE the folder.
set -eu

version=1.5.33
port=${HOLDFAST_EMULATOR_PORT:-4566}
cache=${HOLDFAST_EMULATOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/ministack}
venv=$cache/$version
pidfile=$cache/$port.pid
log=$cache/$port.log
endpoint=http://127.0.0.1:$port
patience=60 # seconds until it must answer

say() { echo "emulator: $*" >&2; }

# A proxy of the environment is not asked: the server is here.
answers() {
	python3 - "$endpoint/_ministack/health" <<-'PYTHON' 2>/dev/null
		import sys, urllib.request
		urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1], timeout=2).read()
	PYTHON
}

ours() { test -s "$pidfile" && kill -0 "$(cat "$pidfile")" 2>/dev/null; }

stop() {
	if ours; then
		kill "$(cat "$pidfile")"
		say "stopped process $(cat "$pidfile")"
	fi
	rm -f "$pidfile"
}

# ensurepip is what Debian packs apart from python3.
install() {
	command -v python3 >/dev/null || { say "python3 is missing: install python3 and python3-venv"; exit 1; }
	if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
		say "installing python3-venv"
		root=
		test "$(id -u)" = 0 || root=sudo
		$root apt-get update -qq >&2
		DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq python3-venv >&2
	fi
	say "installing ministack $version into $venv"
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check "ministack==$version" >&2
	touch "$venv/installed"
}

start() {
	mkdir -p "$cache"
	test -e "$venv/installed" || install
	# Its default is to listen everywhere; the IoT listener does so whatever it is told.
	BIND_HOST=127.0.0.1 IOT_MTLS_ENABLED=0 GATEWAY_PORT=$port AWS_ENDPOINT_URL=$endpoint \
		nohup "$venv/bin/ministack" >"$log" 2>&1 </dev/null &
	echo $! >"$pidfile"
	waited=0
	until answers; do
		ours || { cat "$log" >&2; say "it ended before it answered"; exit 1; }
		test $waited -lt $patience || { cat "$log" >&2; say "no answer from $endpoint within $patience seconds"; exit 1; }
		sleep 1
		waited=$((waited + 1))
	done
	say "ministack $version answers on $endpoint, log in $log"
}

case ${1:-start} in
start)
	answers || start
	echo "export HOLDFAST_DYNAMODB_ENDPOINT=$endpoint"
	echo "export HOLDFAST_S3_ENDPOINT=$endpoint"
	;;
stop) stop ;;
*)
	say "usage: $0 [start|stop]"
	exit 2
	;;
esac
