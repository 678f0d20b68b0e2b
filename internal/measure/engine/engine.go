// Package engine runs the worker somewhere: on the host, in a container of an OCI runtime, in a container of a
// Docker-compatible daemon, or in a virtual machine.
//
// An Engine opens Sessions. A session is one running agent (see package wire) with its data in one place, under one set of
// limits; trials run in it one after the other. Close removes everything that a session makes (container, mounts, volume,
// folder). If plimsoll itself is killed, the agent ends at the end of its input, mounts go with their own mount namespace,
// and Sweep finds the rest by its names.
package engine

import (
	"context"
	"io"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/text/refusal"
)

// An Engine is one way to run a worker. Its methods may be called from several
// goroutines at once.
type Engine interface {
	// Name is the plan's name for it: host, oci, docker, vm.
	Name() string
	// Probe finds out whether the engine works here, by using it. It starts no
	// daemon and leaves nothing behind.
	Probe(ctx context.Context) Probe
	// Open starts an agent. If this engine can't offer what spec asks for, the error is a *refusal.Error; the cell is then
	// skipped, not failed.
	Open(ctx context.Context, spec Spec) (Session, error)
	// Sweep removes what a killed plimsoll left behind with this engine, and returns what it removed, in words. It touches
	// only what has Plimsoll's label or name and no living owner.
	Sweep(ctx context.Context) ([]string, error)
}

// A Session is a running agent. Close must be called once.
type Session interface {
	// Stdin and Stdout carry the messages of package wire. Stdout ends when the agent does.
	Stdin() io.WriteCloser
	Stdout() io.Reader
	// Info describes what was started.
	Info() Info
	// Log returns the last lines that the agent and its runtime wrote to
	// standard error, 8 KiB at most.
	Log() string
	// State says, after Stdout has ended, why: "killed: out of memory (memory limit 64 MiB)", "exit status 1", "daemon
	// gone", ...
	State(ctx context.Context) string
	// Close ends the agent and removes everything that Open made, data included. It also works after the agent, the
	// container or the daemon died. If the run's own context is cancelled, the caller passes a fresh one.
	Close(ctx context.Context) error
}

// A Spec says what to open.
type Spec struct {
	// ID is unique among living sessions, and part of the names of containers, volumes and folders. It has letters, digits
	// and dashes.
	ID string
	// Place is where the data lives. Its Path is set for dir and bind.
	Place place.Spec
	// Source, if set, is where the workloads' source files lie. nil: in Place.
	Source *place.Spec
	// Volume, if set, names an existing volume, for a place of that kind. The agent works in a folder of its own in it; the
	// volume stays. Only the docker engine has volumes.
	Volume string
	// Beside, if set, is another session that this one shares its data with, in the same kind of place: a folder of the host
	// (dir, bind), or a volume of the same daemon. The data stays with the other session, which must be closed later.
	Beside Session
	// Limits are what the container must stay under.
	Limits limit.Limits
	// Network is the network of the worker's connections. Empty: none, which is what measuring storage needs. HostNetwork
	// is the machine's own. Any other value is the daemon's: DefaultNetwork, the name of a network, or container:NAME for
	// that of a container.
	Network string
	// Image, if set, names an existing image in which the worker is mounted; nothing is pulled. Empty: an image of the
	// worker alone.
	Image string
	// Runtime, if set, names the OCI runtime ("crun", "runc", or one that the
	// daemon knows). Empty: the first that works, or the daemon's default.
	Runtime string
	// Seccomp, if set, is the path of a seccomp profile (Docker's JSON format), or
	// "unconfined". Empty: the engine's default.
	Seccomp string
	// Isolation is how a daemon of Windows containers isolates one: "process", or "hyperv" for a virtual machine. Empty:
	// the daemon's default.
	Isolation string
}

// Places returns the place of the data, and that of the sources if it is another.
func (s Spec) Places() []place.Spec {
	if s.Source == nil {
		return []place.Spec{s.Place}
	}
	return []place.Spec{s.Place, *s.Source}
}

// Why there is no limit on I/O in memory, and which limits there are.
const (
	MemoryPlace = "the place is memory (tmpfs): its size and the container's memory limit its data, but nothing limits its speed"
	IOLimitsFix = "limit memory, cpus or cpu_shares, or use another place"
)

// Networks of a Spec.
const (
	HostNetwork    = "host"
	DefaultNetwork = "default"
)

// Info describes a session.
type Info struct {
	// Host names the machine that the container runs on, if it is another one.
	Host string `json:"host,omitempty"`
	// Runtime is the runtime of the container, with its version: "runc 1.1.5".
	Runtime string `json:"runtime,omitempty"`
	// Isolation is how a Windows container is isolated, process or hyperv; empty for others.
	Isolation string `json:"isolation,omitempty"`
	// Daemon is the engine's daemon with its version: "docker 20.10.24".
	Daemon string `json:"daemon,omitempty"`
	// Storage is the snapshotter or storage driver of the layer.
	Storage string `json:"storage,omitempty"`
	// PID is the agent's process id on the host, 0 if it can't be known (a daemon on another machine).
	PID int `json:"pid,omitempty"`
	// HostPath is the host's path of the data; empty if there is none or it isn't known.
	HostPath string `json:"host_path,omitempty"`
	// SourcePath is the host's path of the sources, if they have a place of their own.
	SourcePath string `json:"source_path,omitempty"`
	// Container is the container's full id, for engines that have one.
	Container string `json:"container,omitempty"`
	// Guest is set if the worker runs in a virtual machine. PID is then the machine's program, and the devices that the
	// worker reports are the virtual machine's.
	Guest bool `json:"guest,omitempty"`
}

// A Probe says whether an engine works, and with what.
type Probe struct {
	Engine string `json:"engine"`
	// OK reports whether sessions can be opened.
	OK bool `json:"ok"`
	// Version names what will be used: "runc 1.1.5", "docker 20.10.24 (API 1.41)".
	Version string `json:"version,omitempty"`
	// Missing says what is missing. Fix says what would mend it, with a command where there is one. Both are empty if OK.
	Missing string `json:"missing,omitempty"`
	Fix     string `json:"fix,omitempty"`
	// Failed is set if the engine is installed but did not work, as a daemon that does not answer: its cells fail. If
	// neither OK nor Failed is set, there is no such engine here, and its cells are skipped.
	Failed bool `json:"failed,omitempty"`
	// Notes are facts worth knowing: "crun 1.8.1 found but refuses hybrid cgroup hosts".
	Notes []string `json:"notes,omitempty"`
	// Places lists the kinds of places that the engine offers.
	Places []place.Kind `json:"places,omitempty"`
}

// RefuseWindowsOnly returns a *refusal.Error if spec asks for something that only Windows containers have.
func RefuseWindowsOnly(engine string, spec Spec) error {
	for _, k := range limit.SystemKeys {
		if spec.Limits.Has(k) {
			return &refusal.Error{Engine: engine, What: "limit " + string(k), Why: "it holds the system drive of a Windows container, which a Docker daemon on Windows runs", Fix: "use read_iops, write_iops, read_bps and write_bps"}
		}
	}
	if spec.Isolation != "" {
		return &refusal.Error{Engine: engine, What: "isolation " + spec.Isolation, Why: "it is for Windows containers, which a Docker daemon on Windows runs", Fix: "leave it out"}
	}
	return nil
}
