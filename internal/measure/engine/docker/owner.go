package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"plimsoll/internal/host/procfs"
)

// Labels of the docker engine's objects, which Sweep uses.
const (
	// labelWorker is on images: the SHA-256 of the worker in them.
	labelWorker = "plimsoll.worker"
	// labelSession is on containers and volumes: the session's ID.
	labelSession = "plimsoll.session"
	// labelOwner is the process that made it: boot id/process id/start time.
	labelOwner = "plimsoll.owner"
	// labelHost identifies the machine and the process-id namespace of the owner.
	labelHost = "plimsoll.host"
	// labelEngine tells the engines of one process apart.
	labelEngine = "plimsoll.engine"
)

// An ownerIdentity identifies a plimsoll process; no later process has the same.
type ownerIdentity struct {
	// process is "boot id/process id/start time in clock ticks".
	process string
	// host is a hash of the machine's id and of the process-id namespace: an owner of another host can't be judged from
	// here.
	host string
}

// thisProcess is this process's identity.
func thisProcess() ownerIdentity {
	return ownerIdentity{process: processLabel(procfs.Self()), host: hostID()}
}

// processLabel writes an owner as a label.
func processLabel(p procfs.Process) string { return fmt.Sprintf("%s/%d/%d", p.Boot, p.PID, p.Start) }

// processLives reports whether the process of such a label still runs, or may.
func processLives(label string) bool {
	f := strings.Split(label, "/")
	if len(f) != 3 {
		return true
	}
	pid, err := strconv.Atoi(f[1])
	start, err2 := strconv.ParseUint(f[2], 10, 64)
	return err != nil || err2 != nil || procfs.Process{PID: pid, Boot: f[0], Start: start}.Alive()
}

// dead reports whether the owner of an object with these labels is known to be gone. In doubt it lives.
func (o ownerIdentity) dead(labels map[string]string) bool {
	process, host := labels[labelOwner], labels[labelHost]
	if process == "" || host == "" || host != o.host {
		return false
	}
	return !processLives(process)
}

// mine reports whether this process made the object with these labels.
func (o ownerIdentity) mine(labels map[string]string) bool {
	return labels[labelOwner] == o.process && labels[labelHost] == o.host
}

// containerRoot returns the user and group of this machine that root is in a daemon's containers: root, unless the daemon
// is another user's (rootless) or gives containers users of their own (userns-remap, whose folder is named UID.GID).
func containerRoot(host string, d *daemonInfo) (uid, gid int) {
	if uid, gid, ok := socketPeer(host); ok && uid != 0 {
		return uid, gid
	}
	for _, option := range d.Info.SecurityOptions {
		if option == "name=userns" {
			if n, err := fmt.Sscanf(filepath.Base(d.Info.DockerRootDir), "%d.%d", &uid, &gid); err == nil && n == 2 {
				return uid, gid
			}
		}
	}
	return 0, 0
}

func hostID() string {
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil || len(id) == 0 {
		name, _ := os.Hostname()
		id = []byte(name)
	}
	pids, _ := os.Readlink("/proc/self/ns/pid")
	sum := sha256.Sum256([]byte(strings.TrimSpace(string(id)) + "/" + pids))
	return hex.EncodeToString(sum[:8])
}
