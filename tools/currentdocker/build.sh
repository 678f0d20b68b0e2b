#!/bin/bash
# build.sh [CACHE_DIR]: build the current Docker Engine from its Go modules, once.
#
# CACHE_DIR gets dockerd, docker-proxy, containerd, containerd-shim-runc-v2, ctr and
# runc, in the versions that go.mod names. A stamp in CACHE_DIR holds a
# hash of go.mod, go.sum and this script: with the same stamp nothing is built.
# The first build takes about 10 minutes on 2 cores.
#
# Default CACHE_DIR: ${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/current-docker
# Needs: go, a C compiler, pkg-config and libseccomp-dev (for runc's seccomp).
set -euo pipefail

cache=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/current-docker}
cd "$(dirname "$0")"

if ! pkg-config --exists libseccomp 2>/dev/null; then
	echo "build.sh: libseccomp's headers or pkg-config are missing: apt-get install pkg-config libseccomp-dev" >&2
	exit 5
fi

programs="dockerd docker-proxy containerd containerd-shim-runc-v2 ctr runc"
stamp=$(cat go.mod go.sum build.sh | sha256sum | cut -d' ' -f1)
complete() {
	[ "$(cat "$cache/stamp" 2>/dev/null)" = "$stamp" ] || return 1
	for p in $programs; do [ -x "$cache/$p" ] || return 1; done
}
complete && exit 0

mkdir -p "$cache"
# Two builds into one cache wait for each other; the second then finds the stamp.
exec 9>"$cache/lock"
flock 9
complete && exit 0

# The stamp comes last, so that an interrupted build isn't taken for a whole one,
# and each program is moved into place complete.
rm -f "$cache/stamp"
new=$(mktemp -d "$cache/new.XXXXXX")
trap 'rm -rf "$new"' EXIT

# The programs tell these versions to their clients; without them dockerd calls
# itself "library-import".
version() { go list -mod=readonly -m -f '{{.Version}}' "$1"; }
docker=$(version github.com/moby/moby/v2)
containerd=$(version github.com/containerd/containerd/v2)
runc=$(version github.com/opencontainers/runc)
versions="-X github.com/moby/moby/v2/dockerversion.Version=${docker#v}"
versions+=" -X github.com/containerd/containerd/v2/version.Version=$containerd"
versions+=" -X main.version=${runc#v}"

build() { # NAME CGO TAGS PACKAGE
	echo "build.sh: $1" >&2
	CGO_ENABLED=$2 go build -mod=readonly -trimpath -tags "$3" -ldflags "$versions" -o "$new/$1" "$4"
	mv "$new/$1" "$cache/$1"
}

# runc needs cgo for its nsenter and for seccomp; the others work without, but
# dockerd applies seccomp profiles only through runc, so it needs no tag for it.
build runc 1 seccomp github.com/opencontainers/runc
build containerd 0 no_btrfs github.com/containerd/containerd/v2/cmd/containerd
build containerd-shim-runc-v2 0 no_btrfs github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2
build ctr 0 no_btrfs github.com/containerd/containerd/v2/cmd/ctr
build docker-proxy 0 "" github.com/moby/moby/v2/cmd/docker-proxy
build dockerd 1 exclude_graphdriver_btrfs,no_systemd github.com/moby/moby/v2/cmd/dockerd

echo "$stamp" >"$cache/stamp"
