// Package engine runs the worker somewhere: on the host, in a container of an
// OCI runtime, in a container of a Docker-compatible daemon, or in a virtual machine.
//
// An Engine opens Sessions. A session is one running agent (see package wire)
// with its data in one place, under one set of limits; trials run in it one
// after the other. Everything that a session makes (container, mounts, volume,
// folder) is gone after Close, and also when plimsoll itself is killed: the
// agent ends at the end of its input, mounts live in a mount namespace of their own,
// and what can't be tied to a process is named so that Sweep finds it.
package engine

import (
	"context"
	"fmt"
	"io"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/place"
)

// An Engine is one way to run a worker. Its methods may be called from several
// goroutines at once.
type Engine interface {
	// Name is the plan's name for it: host, oci, docker, vm.
	Name() string
	// Probe finds out whether the engine works here, by using it. It starts no
	// daemon and leaves nothing behind.
	Probe(ctx context.Context) Probe
	// Open starts an agent. The error is an *Unsupported when this engine can't
	// offer what spec asks for; the cell is then skipped, not failed.
	Open(ctx context.Context, spec Spec) (Session, error)
	// Sweep removes what a killed plimsoll left behind with this engine, and
	// returns what it removed, in words. It touches only what is labelled or named as
	// Plimsoll's own and has no living owner.
	Sweep(ctx context.Context) ([]string, error)
}

// A Session is a running agent. Close must be called once.
type Session interface {
	// Stdin and Stdout carry package wire's messages. Stdout ends when the agent
	// does.
	Stdin() io.WriteCloser
	Stdout() io.Reader
	// Info says what was started.
	Info() Info
	// Log returns the last lines that the agent and its runtime wrote to
	// standard error, 8 KiB at most.
	Log() string
	// State tells, after Stdout has ended, why: "killed: out of memory (memory
	// limit 64 MiB)", "exit status 1", "daemon gone", ...
	State(ctx context.Context) string
	// Close ends the agent and removes everything that Open made, data included.
	// It works after the agent, the container or the daemon died, and is given
	// a fresh context by its caller when the run's own is cancelled.
	Close(ctx context.Context) error
}

// A Spec says what to open.
type Spec struct {
	// ID is unique among living sessions; names of containers, volumes and
	// folders are made from it. Letters, digits and dashes.
	ID string
	// Place is where the data lives. Its Path is set for dir and bind.
	Place place.Spec
	// Source, if set, is where the sources of workloads lie that read some. nil: in Place.
	Source *place.Spec
	// Volume, if set, names a volume that is there already, for a place of that kind. The agent works in a folder of its
	// own in it; the volume stays. Of the engines, docker alone has them.
	Volume string
	// Limits are what the container must stay under.
	Limits limit.Limits
	// Network is what the worker's connections go over. Empty: none, which is what measuring storage needs. HostNetwork is the
	// machine's own. Any other is the daemon's word: DefaultNetwork, the name of a network, or container:NAME for that
	// of a container.
	Network string
	// Image, if set, names an image of the engine's own in which the worker is
	// mounted; nothing is pulled. Empty: an image made of the worker alone.
	Image string
	// Runtime, if set, names the OCI runtime ("crun", "runc", or one that the
	// daemon knows). Empty: the first that works, or the daemon's default.
	Runtime string
	// Seccomp, if set, is the path of a seccomp profile (Docker's JSON format), or
	// "unconfined". Empty: the engine's default.
	Seccomp string
	// Isolation is how a daemon of Windows containers keeps one apart: "process", or "hyperv" for a virtual machine. Empty:
	// the daemon's default.
	Isolation string
}

// Places are the one of the data, and that of the sources if it is another.
func (s Spec) Places() []place.Spec {
	if s.Source == nil {
		return []place.Spec{s.Place}
	}
	return []place.Spec{s.Place, *s.Source}
}

// Why there is no limit on I/O in memory, and what there is.
const (
	MemoryPlace = "the place is memory (tmpfs): its size and the container's memory bound how much, and nothing how fast"
	IOLimitsFix = "limit memory, cpus or cpu_shares, or use another place"
)

// Networks of a Spec.
const (
	HostNetwork    = "host"
	DefaultNetwork = "default"
)

// Info describes a session.
type Info struct {
	// Host names the machine that the container runs on, where that is not this one.
	Host string `json:"host,omitempty"`
	// Runtime is what ran the container, with its version: "runc 1.1.5".
	Runtime string `json:"runtime,omitempty"`
	// Isolation is how a Windows container is kept apart, process or hyperv; empty for others.
	Isolation string `json:"isolation,omitempty"`
	// Daemon is the engine's daemon with its version: "docker 20.10.24".
	Daemon string `json:"daemon,omitempty"`
	// Storage is the snapshotter or storage driver of the layer.
	Storage string `json:"storage,omitempty"`
	// PID is the agent's process id on the host, 0 where it can't be known (a
	// daemon on another machine).
	PID int `json:"pid,omitempty"`
	// HostPath is the host's path of the data, where there is one and it is known.
	HostPath string `json:"host_path,omitempty"`
	// SourcePath is that of the sources, if they have a place of their own.
	SourcePath string `json:"source_path,omitempty"`
	// Container is the container's full id, for engines that have one.
	Container string `json:"container,omitempty"`
	// Guest is set if the worker runs in a virtual machine: PID is that of the machine's program, and what the worker
	// says of devices is about the machine's own.
	Guest bool `json:"guest,omitempty"`
}

// A Probe is what an engine found out about itself.
type Probe struct {
	Engine string `json:"engine"`
	// OK is whether sessions can be opened.
	OK bool `json:"ok"`
	// Version names what will be used: "runc 1.1.5", "docker 20.10.24 (API 1.41)".
	Version string `json:"version,omitempty"`
	// Missing says what is missing, and Fix what would mend it, as a sentence
	// with a command where there is one. Both empty if OK.
	Missing string `json:"missing,omitempty"`
	Fix     string `json:"fix,omitempty"`
	// Failed is set where the engine is here and did not do its work, as a daemon that does not answer: its cells have failed. Without it, and not
	// OK, there is no such engine here, and its cells are skipped.
	Failed bool `json:"failed,omitempty"`
	// Notes are facts worth knowing: "crun 1.8.1 found but refuses hybrid cgroup hosts".
	Notes []string `json:"notes,omitempty"`
	// Places lists the kinds of places that the engine offers.
	Places []place.Kind `json:"places,omitempty"`
}

// Unsupported is the answer to a Spec that an engine can't offer. The cell is
// skipped with this as its reason.
type Unsupported struct {
	Engine string
	// What can't be had: "place layer", "limit write_bps".
	What string
	// Reason is why, Fix what would help; Fix may be empty.
	Reason string
	Fix    string
}

// Error implements error.
func (u *Unsupported) Error() string {
	s := fmt.Sprintf("engine %s has no %s: %s", u.Engine, u.What, u.Reason)
	if u.Fix != "" {
		s += "; " + u.Fix
	}
	return s
}

// RefuseWindowsOnly says what of spec another engine can't do, since only Windows containers have it.
func RefuseWindowsOnly(engine string, spec Spec) error {
	for _, k := range limit.SystemKeys {
		if spec.Limits.Has(k) {
			return &Unsupported{engine, "limit " + string(k), "it holds the system drive of a Windows container, which a Docker daemon on Windows runs", "use read_iops, write_iops, read_bps and write_bps"}
		}
	}
	if spec.Isolation != "" {
		return &Unsupported{engine, "isolation " + spec.Isolation, "it is for Windows containers, which a Docker daemon on Windows runs", "leave it out"}
	}
	return nil
}
