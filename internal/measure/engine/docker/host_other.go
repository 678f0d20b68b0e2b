//go:build !linux

package docker

import "github.com/docker/go-units"

// dockerPID is 0: the container's processes are of another system.
func dockerPID(int, string) int { return 0 }

func dockerUpper(int) string { return "" }

func dockerOwnUlimits(fallback int64) []*units.Ulimit {
	return []*units.Ulimit{{Name: ulimitNofile, Soft: fallback, Hard: fallback}, {Name: ulimitNproc, Soft: fallback, Hard: fallback}}
}

// dockerPeer can't be told on this system.
func dockerPeer(string) (uid, gid int, ok bool) { return 0, 0, false }
