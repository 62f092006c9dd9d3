#!/usr/bin/env bash
# Sourced by the scripts that need tools from PyPI or npm: installs exactly what a list in the tree names into a folder of
# the cache, once for each list. Debian's own packages are installed where they are missing.

tools_cache=${HOLDFAST_TOOLS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}

say() { printf '== %s\n' "$*"; }

# need COMMAND PACKAGE…: the command, from Debian's packages if it is not there.
need() {
	local command=$1
	shift
	command -v "$command" >/dev/null || debian "$@"
}

# debian PACKAGE…: installs packages.
debian() {
	if ! command -v apt-get >/dev/null; then
		echo "install what Debian calls $*" >&2
		return 1
	fi
	say "installing $*"
	local root=()
	[ "$(id -u)" -eq 0 ] || root=(sudo)
	"${root[@]}" apt-get update -qq
	"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

# venv LIST: prints the folder of a virtual environment with what the list names.
venv() {
	local list=$1 folder
	folder=$tools_cache/$(basename "$list" .txt)-$(sha256sum "$list" | cut -c 1-12)
	if [ ! -e "$folder/installed" ]; then
		{
			need python3 python3 python3-venv
			# Debian packs ensurepip apart from python3.
			python3 -c 'import ensurepip' 2>/dev/null || debian python3-venv
			say "installing $(grep -c == "$list") packages of $list into $folder"
			rm -rf "$folder"
			mkdir -p "$tools_cache"
			python3 -m venv "$folder"
			"$folder/bin/pip" install --quiet --disable-pip-version-check --no-input -r "$list"
			touch "$folder/installed"
		} >&2
	fi
	echo "$folder"
}

# node_modules FOLDER: prints where the packages of a folder's lock file are installed.
node_modules() {
	local from=$1 folder
	folder=$tools_cache/npm-$(sha256sum "$from/package-lock.json" | cut -c 1-12)
	if [ ! -e "$folder/installed" ]; then
		{
			need npm npm
			say "installing $from/package-lock.json into $folder"
			rm -rf "$folder"
			mkdir -p "$folder"
			cp "$from/package.json" "$from/package-lock.json" "$folder/"
			npm ci --prefix "$folder" --no-audit --no-fund --silent
			touch "$folder/installed"
		} >&2
	fi
	echo "$folder/node_modules"
}
