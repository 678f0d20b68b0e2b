// Package place names where data lives in a trial.
//
// A place is a promise about the path that the worker writes to, not about the
// worker: "bind" is a host folder mounted into a container, whatever engine
// runs it. An engine that can't offer a place says so (refusal.Error).
package place

// A Kind is one of the ways to give a container a place for data.
type Kind string

// The kinds of places.
const (
	// Dir is a folder of the host, used directly; only the host engine has it.
	Dir Kind = "dir"
	// Layer is the container's own writable layer.
	Layer Kind = "layer"
	// Bind is a folder of the host, mounted into the container.
	Bind Kind = "bind"
	// Volume is a named volume of the engine.
	Volume Kind = "volume"
	// Tmpfs is memory.
	Tmpfs Kind = "tmpfs"
	// Share is a shared folder with a consistency mode.
	Share Kind = "share"
)

// Kinds lists them all, in the order of tables.
var Kinds = []Kind{Dir, Layer, Bind, Volume, Tmpfs, Share}

// A Spec is one place of a plan.
type Spec struct {
	// Name is the plan's name for it.
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Path is the host folder of dir and bind. Empty: a folder of Plimsoll's own
	// under its state directory. The trial works in a sub-folder that it makes
	// and removes.
	Path string `json:"path,omitempty"`
	// Driver and DriverOpts make a volume. Default: the local driver.
	Driver     string            `json:"driver,omitempty"`
	DriverOpts map[string]string `json:"driver_opts,omitempty"`
	// Size bounds a tmpfs in bytes. 0: in a plan, what the
	// workloads need; to an engine, 512 MiB.
	Size int64 `json:"size,omitempty"`
	// OwnDevice, of dir and bind, asks for a disk of so many bytes that is made for the run: a file system on a loop
	// device, which all clients and cells of the place share. Path is then where it is mounted; a run sets it.
	OwnDevice int64 `json:"own_device,omitempty"`
}
