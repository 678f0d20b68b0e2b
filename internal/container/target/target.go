// Package target finds what a limit applies to: from the name that a user writes to the process and its control groups.
//
// A user names a container by name or id, with the engine in front if two engines have one of that name; or a process, a control
// group, a unit of systemd, a volume (Parse). A Finder asks every engine of the machine. Docker and Podman answer through Docker's
// API. For the others it reads the files of their runtimes below /run: that needs no client, and works while a daemon is down. Each
// root and socket is in Options.
//
// Mistakes are easily made:
//
//   - A process id is reused. A Target keeps the start time of its process, and Alive compares it.
//   - A container's first process may have moved itself into a group below the container's. Groups
//     returns the container's own group, as Podman does.
//   - A name doesn't say where the container runs. A daemon may be in a virtual machine or on another
//     machine; its containers have Elsewhere set, and no process here.
//   - Several sources see one container: containerd has Docker's, too, in the namespace moby; runc's
//     folder has those of Podman and CRI-O. They are the same if the process is.
//
// The formats are described where they are read.
package target

import (
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"plimsoll/internal/host/procfs"
)

// A Kind is the kind of a target.
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

// The engines. OCI stands for a container that was made with runc or crun directly.
const (
	Docker     Engine = "docker"
	Podman     Engine = "podman"
	Containerd Engine = "containerd"
	CRIO       Engine = "crio"
	OCI        Engine = "oci"
)

// engines are all of them, first the one with the most facts about a container.
var engines = []Engine{Docker, Podman, CRIO, Containerd, OCI}

// title is an engine's name in a sentence.
func (e Engine) title() string {
	return map[Engine]string{Docker: "Docker", Podman: "Podman", Containerd: "containerd", CRIO: "CRI-O", OCI: "runc or crun"}[e]
}

// A Target is what a limit applies to.
type Target struct {
	Kind Kind `json:"kind"`
	// Engine is empty for all but containers and volumes.
	Engine Engine `json:"engine,omitempty"`
	// Namespace is containerd's: default, k8s.io, moby.
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the container, unit or volume, or the path of the group. For a container without a name it is the id.
	Name string `json:"name"`
	// ID is the container's whole id.
	ID string `json:"id,omitempty"`
	// Image is the name of the container's image as the user wrote it.
	Image string `json:"image,omitempty"`
	// Labels are the container's, together with those of its Kubernetes pod. The kubelet's io.kubernetes.pod.name and the like are
	// among them under those names.
	Labels map[string]string `json:"labels"`
	// Mounts are the mounts from the host in the container; for a volume, the volume.
	Mounts []Mount `json:"mounts"`
	// Sandbox is whether the container only keeps a pod's namespaces. List and Events leave it out.
	Sandbox bool `json:"sandbox"`
	// State is the engine's word for the state: running, exited, inactive.
	State string `json:"state,omitempty"`
	// Running is whether there is something to limit now: a process, or a group that exists. A paused container is running.
	Running bool `json:"running"`
	// unseen is why a container that runs according to its engine has no visible process; "" for others.
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
	// Host is the address of the daemon that reported it, OS the system of its containers. Both are empty if files reported it.
	Host string `json:"host,omitempty"`
	OS   string `json:"os,omitempty"`
	// Users are the running containers that have mounted the volume.
	Users []Target `json:"users"`
	// Asked are the limits in the container's config.json, with which its runtime began. They are nil if the daemon reported the
	// container: it has them.
	Asked *specs.LinuxResources `json:"-"`
	// Partial is set if the engine's daemon knows more of it, such as labels, and could not be asked.
	Partial bool `json:"-"`
	// Notes are doubts, one sentence each.
	Notes []string `json:"notes"`
	// Rootfs is the host's folder with the container's root, as long as the container's process is not in it yet: a runtime calls
	// its hooks before. Otherwise it is empty, and the process leads there.
	Rootfs string `json:"-"`

	// cgroupsPath is the group that config.json asks for.
	cgroupsPath string
	// volumes are the volumes in an engine's file, for mounts that have no name in config.json.
	volumes []Mount
}

// A Mount is a folder of the host in a container.
type Mount struct {
	// Source is the host's path, Destination the container's.
	Source      string `json:"source"`
	Destination string `json:"destination"`
	// Volume is the name of the volume, if it is one, and Driver is what provides it.
	Volume string `json:"volume,omitempty"`
	Driver string `json:"driver,omitempty"`
	// Later is what Source will show once a container has the volume, if none has it now: the path of a block device or a folder,
	// else its type and name, as in "tmpfs:tmpfs" or "nfs::/export". Empty: Source shows the data now.
	Later string `json:"later,omitempty"`
}

// Ref returns the unambiguous name of t: docker:web.
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

// FullID identifies the container: the engine, for containerd the namespace, and the id; "" if it has no id. Users choose the ids
// for containerd, runc and crun, so containers of two roots of one engine may have the same.
func (t Target) FullID() string {
	engine, space := t.Engine, t.Namespace
	if engine == Containerd && space == dockersNamespace {
		engine = Docker
	}
	if engine != Containerd {
		space = "" // Docker's containers are in a namespace of containerd as well.
	}
	if t.ID == "" {
		return ""
	}
	return string(engine) + "/" + space + "/" + t.ID
}

// CgroupsPath is the control group that the container's config.json asks for, in the form that is written there; "" if that isn't
// known. Its name need not have the container's.
func (t Target) CgroupsPath() string { return t.cgroupsPath }

// title is t's name in a sentence: "container web of Docker".
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

// shortID is how many digits of an id the docker command shows.
const shortID = 12

// answersTo reports how well a name matches t: 2 for its name or id, 1 for the beginning of its id.
func (t Target) answersTo(name string) int {
	switch {
	case t.Name == name, t.ID == name:
		return 2
	case t.ID != t.Name && strings.HasPrefix(t.ID, name):
		return 1
	}
	return 0
}

// Process returns the first process, without the boot and the namespace, which are this machine's; zero if there is none.
func (t Target) Process() procfs.Process { return procfs.Process{PID: t.PID, Start: t.StartTime} }

// same reports whether two sources describe one container.
func (t Target) same(u Target) bool {
	if t.PID != 0 || u.PID != 0 {
		return t.Process() == u.Process()
	}
	oneEngine := t.Engine == u.Engine || t.Host == "" || u.Host == ""
	return t.ID == u.ID && t.Elsewhere == u.Elsewhere && oneEngine
}
