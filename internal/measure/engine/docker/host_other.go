//go:build !linux

package docker

import "github.com/docker/go-units"

// hostPID is 0: the container's processes run on another system.
func hostPID(int, string) int { return 0 }

func upperDir(int) string { return "" }

func ownUlimits(fallback int64) []*units.Ulimit {
	return []*units.Ulimit{{Name: ulimitNofile, Soft: fallback, Hard: fallback}, {Name: ulimitNproc, Soft: fallback, Hard: fallback}}
}

// socketPeer is unknown on this system.
func socketPeer(string) (uid, gid int, ok bool) { return 0, 0, false }
