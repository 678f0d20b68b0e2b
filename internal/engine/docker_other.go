//go:build !linux

package engine

import "github.com/docker/go-units"

// dockerKernel is unknown: containers of Linux run on another kernel than this one.
func dockerKernel() string { return "" }

// dockerPID is 0: the container's processes are of another system.
func dockerPID(int, string) int { return 0 }

func dockerUpper(int) string { return "" }

func dockerOwnUlimits(fallback int64) []*units.Ulimit {
	return []*units.Ulimit{{Name: ulimitNofile, Soft: fallback, Hard: fallback}, {Name: ulimitNproc, Soft: fallback, Hard: fallback}}
}

// dockerGroup: no socket has a group that could be joined.
func dockerGroup(string) string { return "" }

// dockerPeer can't be told on this system.
func dockerPeer(string) (uid, gid int, ok bool) { return 0, 0, false }
