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

// Labels on what the docker engine makes. Sweep goes by them.
const (
	// dockerLabelWorker is on images: the SHA-256 of the worker in them.
	dockerLabelWorker = "plimsoll.worker"
	// dockerLabelSession is on containers and volumes: the session's ID.
	dockerLabelSession = "plimsoll.session"
	// dockerLabelOwner is the process that made it: boot id/process id/start time.
	dockerLabelOwner = "plimsoll.owner"
	// dockerLabelHost tells on whose machine, and among whose process ids, the owner
	// is to be looked for.
	dockerLabelHost = "plimsoll.host"
	// dockerLabelEngine tells the engines of one process apart.
	dockerLabelEngine = "plimsoll.engine"
)

// A dockerOwner is a plimsoll process, in words that no later process matches.
type dockerOwner struct {
	// process is "boot id/process id/start time in clock ticks".
	process string
	// host is a hash of the machine's id and of the process-id namespace: an owner
	// of another host can't be judged from here.
	host string
}

// dockerSelf is this process.
func dockerSelf() dockerOwner {
	return dockerOwner{process: dockerProcess(procfs.Self()), host: dockerHostID()}
}

// dockerProcess writes an owner as a label.
func dockerProcess(p procfs.Process) string { return fmt.Sprintf("%s/%d/%d", p.Boot, p.PID, p.Start) }

// dockerProcessLives reports whether the process of such a label still runs, or may.
func dockerProcessLives(label string) bool {
	f := strings.Split(label, "/")
	if len(f) != 3 {
		return true
	}
	pid, err := strconv.Atoi(f[1])
	start, err2 := strconv.ParseUint(f[2], 10, 64)
	return err != nil || err2 != nil || procfs.Process{PID: pid, Boot: f[0], Start: start}.Alive()
}

// dead reports whether the owner of what carries labels is known to be gone. In
// doubt it lives.
func (o dockerOwner) dead(labels map[string]string) bool {
	process, host := labels[dockerLabelOwner], labels[dockerLabelHost]
	if process == "" || host == "" || host != o.host {
		return false
	}
	return !dockerProcessLives(process)
}

// mine reports whether this very process made what carries labels.
func (o dockerOwner) mine(labels map[string]string) bool {
	return labels[dockerLabelOwner] == o.process && labels[dockerLabelHost] == o.host
}

// dockerRoot returns which user and group of this machine the root of a daemon's containers
// is: root, unless the daemon is another user's (rootless) or gives containers users
// of their own (userns-remap, whose folder is named UID.GID).
func dockerRoot(host string, d *dockerDaemon) (uid, gid int) {
	if uid, gid, ok := dockerPeer(host); ok && uid != 0 {
		return uid, gid
	}
	for _, option := range d.info.SecurityOptions {
		if option == "name=userns" {
			if n, err := fmt.Sscanf(filepath.Base(d.info.DockerRootDir), "%d.%d", &uid, &gid); err == nil && n == 2 {
				return uid, gid
			}
		}
	}
	return 0, 0
}

func dockerHostID() string {
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil || len(id) == 0 {
		name, _ := os.Hostname()
		id = []byte(name)
	}
	pids, _ := os.Readlink("/proc/self/ns/pid")
	sum := sha256.Sum256([]byte(strings.TrimSpace(string(id)) + "/" + pids))
	return hex.EncodeToString(sum[:8])
}
