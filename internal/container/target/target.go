// Package target finds the running thing whose limits are held: from what a user names to
// its process and its control groups.
//
// A user names a container by name or id, and with its engine in front where two engines
// have one of that name; or a process, a control group, a unit of systemd, a volume
// (Parse). A Finder asks every engine of the machine. Docker and Podman answer through
// Docker's API. The others are read from what their runtimes note down below /run: that
// needs no client, and works while a daemon is down. Each root and socket is in Options.
//
// Easily got wrong:
//
//   - A process id is reused. A Target keeps the time at which its process started, and
//     Alive compares.
//   - A container's first process may have moved itself into a group below the
//     container's. Groups walks up to the container's own (as Podman does).
//   - A name says nothing of where it runs. A daemon may be in a virtual machine or on
//     another machine; its containers have Elsewhere set, and no process here.
//   - One container is seen by several sources: Docker's are containerd's, too, in the
//     namespace moby; those of Podman and CRI-O are in runc's folder. The process tells
//     that they are the same.
//
// The layouts are described where they are read.
package target

import (
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"plimsoll/internal/host/procfs"
)

// A Kind is what sort of thing a target is.
type Kind string

// The kinds of targets.
const (
	Container Kind = "container"
	Process   Kind = "pid"
	Cgroup    Kind = "cgroup"
	Unit      Kind = "unit"
	Volume    Kind = "volume"
)

// An Engine is what runs a container.
type Engine string

// The engines. OCI is a container that somebody runs with runc or crun alone.
const (
	Docker     Engine = "docker"
	Podman     Engine = "podman"
	Containerd Engine = "containerd"
	CRIO       Engine = "crio"
	OCI        Engine = "oci"
)

// engines are all of them, the one that knows most of a container first.
var engines = []Engine{Docker, Podman, CRIO, Containerd, OCI}

// title is an engine's name in a sentence.
func (e Engine) title() string {
	return map[Engine]string{Docker: "Docker", Podman: "Podman", Containerd: "containerd", CRIO: "CRI-O", OCI: "runc or crun"}[e]
}

// A Target is what was named.
type Target struct {
	Kind Kind `json:"kind"`
	// Engine is empty for all but containers and volumes.
	Engine Engine `json:"engine,omitempty"`
	// Namespace is containerd's: default, k8s.io, moby.
	Namespace string `json:"namespace,omitempty"`
	// Name is the container's, the unit's or the volume's name, or the group's path. It
	// is the id for containers that have none.
	Name string `json:"name"`
	// ID is the container's whole id.
	ID string `json:"id,omitempty"`
	// Image is the name of the container's image as it was asked for.
	Image string `json:"image,omitempty"`
	// Labels are the container's. Those of a Kubernetes pod are among them, and what the
	// kubelet calls io.kubernetes.pod.name and the like is there under those names.
	Labels map[string]string `json:"labels"`
	// Mounts are what the host mounted into the container; of a volume, the volume.
	Mounts []Mount `json:"mounts"`
	// Sandbox is whether the container only keeps a pod's namespaces. List and Events leave it out.
	Sandbox bool `json:"sandbox"`
	// State is the engine's word for how it is: running, exited, inactive.
	State string `json:"state,omitempty"`
	// Running is whether there is something to hold to limits now: a process, or a group
	// that exists. A paused container is running.
	Running bool `json:"running"`
	// unseen is why a container that runs by its engine's word has no process that can be seen; "" for others.
	unseen string
	// PID is the first process; 0 if there is none, or none on this machine.
	PID int `json:"pid,omitempty"`
	// StartTime is when PID started, in clock ticks since boot (field 22 of proc_pid_stat(5)).
	StartTime uint64 `json:"start_time,omitempty"`
	// Groups are the control groups, one for each hierarchy.
	Groups []Group `json:"groups"`
	// Elsewhere reports why the container is not on this machine: limits go through the
	// engine's API only. It is empty if it is here.
	Elsewhere string `json:"elsewhere,omitempty"`
	// Host is the address of the daemon that reported it, OS the system of its containers.
	// Both are empty for what was read from files.
	Host string `json:"host,omitempty"`
	OS   string `json:"os,omitempty"`
	// Users are the running containers that have a volume mounted.
	Users []Target `json:"users"`
	// Asked are the limits in the container's config.json, with which its runtime began it; nil if the daemon
	// told of it, which has them.
	Asked *specs.LinuxResources `json:"-"`
	// Partial is set where the engine's daemon knows more of it, such as labels, and could not be asked.
	Partial bool `json:"-"`
	// Notes are doubts, a sentence each.
	Notes []string `json:"notes"`
	// Rootfs is the host's folder with the container's root, where its process is not in there yet: a
	// runtime calls its hooks before. Otherwise it is empty, and the process tells.
	Rootfs string `json:"-"`

	// cgroupsPath is what config.json asks for.
	cgroupsPath string
	// volumes are what an engine's file says of mounts that config.json has without a name.
	volumes []Mount
}

// A Mount is a folder of the host in a container.
type Mount struct {
	// Source is the host's path, Destination the container's.
	Source      string `json:"source"`
	Destination string `json:"destination"`
	// Volume is the name of the volume, if it is one, and Driver what provides it.
	Volume string `json:"volume,omitempty"`
	Driver string `json:"driver,omitempty"`
	// Later is what Source will show as soon as a container has the volume, where none has: a block device or a folder by its
	// path, else its type and name, as in "tmpfs:tmpfs" or "nfs::/export". Empty: Source shows the data now.
	Later string `json:"later,omitempty"`
}

// Ref is the unambiguous way to name t: docker:web.
func (t Target) Ref() string {
	switch t.Kind {
	case Container:
		name := t.Name
		if t.Engine == Containerd && t.Namespace != "" {
			name = t.Namespace + "/" + t.ID
		}
		return string(t.Engine) + ":" + name
	case Volume:
		return "volume:" + string(t.Engine) + ":" + t.Name
	}
	return string(t.Kind) + ":" + t.Name
}

// FullID is what the container's engine tells it by, with the engine and, of containerd, the namespace; "" for what has no id. A user chooses
// the ids of containerd, runc and crun, so that containers of two roots of one engine may have the same.
func (t Target) FullID() string {
	engine, space := t.Engine, t.Namespace
	if engine == Containerd && space == dockersNamespace {
		engine = Docker
	}
	if engine != Containerd {
		space = "" // Docker's containers are in one of containerd's as well.
	}
	if t.ID == "" {
		return ""
	}
	return string(engine) + "/" + space + "/" + t.ID
}

// CgroupsPath is the control group that the container's config.json asks for, as that has it; "" where that isn't known. It
// need not be called after the container.
func (t Target) CgroupsPath() string { return t.cgroupsPath }

// title names t in a sentence: "container web of Docker".
func (t Target) title() string {
	switch t.Kind {
	case Container:
		s := "container " + t.Name
		if t.Name != t.ID && len(t.ID) >= shortID {
			s += " (" + t.ID[:shortID] + ")"
		}
		return s + " of " + t.Engine.title()
	case Process:
		return "process " + t.Name
	case Cgroup:
		return "control group " + t.Name
	case Volume:
		return "volume " + t.Name + " of " + t.Engine.title()
	}
	return t.Ref()
}

// shortID is how many letters of an id the docker command shows.
const shortID = 12

// answersTo reports how well t answers to a name: 2 for its name or id, 1 for the beginning
// of its id.
func (t Target) answersTo(name string) int {
	switch {
	case t.Name == name, t.ID == name:
		return 2
	case t.ID != t.Name && strings.HasPrefix(t.ID, name):
		return 1
	}
	return 0
}

// Process is the first process, without the boot and the namespace, which are this machine's; zero if there is none.
func (t Target) Process() procfs.Process { return procfs.Process{PID: t.PID, Start: t.StartTime} }

// same reports whether two sources tell of one container.
func (t Target) same(u Target) bool {
	if t.PID != 0 || u.PID != 0 {
		return t.Process() == u.Process()
	}
	oneEngine := t.Engine == u.Engine || t.Host == "" || u.Host == ""
	return t.ID == u.ID && t.Elsewhere == u.Elsewhere && oneEngine
}
