//go:build !linux

package engine

import (
	"fmt"

	"github.com/docker/go-units"
)

// dockerKernel is unknown: containers of Linux run on another kernel than this one.
func dockerKernel() string { return "" }

// dockerProcess names a process by its number only, so that its owner always counts as
// alive.
func dockerProcess(pid int) string { return fmt.Sprintf("/%d/", pid) }

func dockerProcessLives(string) bool { return true }

// dockerPID is 0: the container's processes are of another system.
func dockerPID(int, string) int { return 0 }

func dockerUpper(int) string { return "" }

func dockerOwnUlimits(fallback int64) []*units.Ulimit {
	return []*units.Ulimit{{Name: "nofile", Soft: fallback, Hard: fallback}, {Name: "nproc", Soft: fallback, Hard: fallback}}
}
