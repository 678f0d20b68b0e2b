package wire

import (
	"time"

	"plimsoll/internal/limit"
)

// PortName is the name of the virtio-serial port over which the first process of a virtual machine communicates.
const PortName = "plimsoll"

// ExitBase is added to the exit status that such a process passes to its machine (isa-debug-exit), because QEMU's own
// are small.
const ExitBase = 16

// Booted is the first line of a worker that is the first process of a virtual machine. The worker has nothing mounted
// except the kernel's own file systems, and waits for its Setup. A saved machine resumes at this point.
type Booted struct {
	// Kernel is uname's release, Memory the machine's memory in bytes.
	Kernel string `json:"kernel"`
	Memory int64  `json:"memory"`
}

// Setup says what a virtual machine is used for. The answer is the agent's hello; errors go to the console.
type Setup struct {
	// Now is the parent's clock, and Seed is mixed into the kernel's random numbers: a machine that was saved has those
	// of the time when it was saved.
	Now  time.Time `json:"now"`
	Seed []byte    `json:"seed"`
	// Modules are files of the first root file system, loaded in this order.
	Modules []string `json:"modules,omitempty"`
	// Address is set on the machine's network interface before anything is mounted, with the length of its network's
	// prefix: "10.0.2.15/24". Empty: none.
	Address string `json:"address,omitempty"`
	// Place is where the agent works. Sources is where the sources are that its trials read; nil: in Place.
	Place   GuestMount  `json:"place"`
	Sources *GuestMount `json:"sources,omitempty"`
	// Limits are those that the machine sets on itself. Memory and CPUs bound the agent and its trials all the time. The rates
	// hold while a trial is measured, on the device that is mounted for the place.
	Limits limit.Limits `json:"limits,omitzero"`
}

// A GuestMount is a mount that a virtual machine makes for one of its places.
type GuestMount struct {
	// Source is mounted on Dir as a file system of type FSType, with options as mount(8) has them.
	Source  string `json:"source"`
	FSType  string `json:"fs_type"`
	Options string `json:"options,omitempty"`
	Dir     string `json:"dir"`
	// Work is the folder in Dir to use, empty for Dir itself.
	Work string `json:"work,omitempty"`
}
