// Package plan reads plans: YAML files that span a matrix of workloads, engines, places, limits and numbers of clients.
// They say which of its cells are run, how often, and what the cells are compared with.
//
// Reading is strict, because a plan that is misread still yields numbers. An unknown key, a value without a unit, a key
// given twice, two names for the same cell or a matrix without cells are errors with file, line and column; all of them are
// reported at once.
//
// There is one table of keys (keys.go). The decoder, the encoder (Marshal), the JSON schema (Schema) and the hints for
// misspelled keys are made from it.
//
// docs/reference/plan.md describes every key.
package plan

import (
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
)

// Defaults of keys that a plan may leave out.
const (
	// DefaultBlocks is the least number of blocks with which a distribution-free 95 % interval of a median exists.
	DefaultBlocks = 6
	// QuickBlocks is the number of blocks with --quick if the plan's quick section sets none. So few prove nothing, and
	// reports say so.
	QuickBlocks = 3
	// DefaultTimeout bounds one trial.
	DefaultTimeout = time.Minute
	// DefaultMargin is the zone of equivalence around a ratio of 1.
	DefaultMargin = 0.05
	// DefaultLimits is the name of the set without limits.
	DefaultLimits = "none"
)

// Values of io_engine, beside the I/O engines' own names (load.IOUring ...).
const (
	// Common is the strongest I/O engine that works in all cells of a workload.
	Common = "common"
	// Best is the strongest I/O engine in each cell. Cells may then differ by more than their place.
	Best = "best"
)

// Kinds of engines that a plan may name.
const (
	Host   = "host"
	OCI    = "oci"
	Docker = "docker"
	VM     = "vm"
)

// A Plan is a checked plan. Parse fills in the defaults of the plan's own keys; the
// defaults of a workload's keys are left to the worker, as zero.
type Plan struct {
	// Name names the plan in tables; letters, digits, - and _.
	Name string
	// Description is the question that the plan answers, for people.
	Description string
	// Workloads, Engines, Places and Limits span the matrix, in the order of the file. Their names are unique, and no two
	// entries of a list are the same.
	Workloads []workload.Spec
	Engines   []EngineSpec
	Places    []place.Spec
	Limits    []limit.Limits
	// Sources are names of Places from which workloads with sources (tree and command) read them. Empty: from the place
	// that they write to.
	Sources []string
	// Clients lists how many workers run at the same time.
	Clients []int
	// Include, unless empty, keeps only the cells that match one of its entries. Exclude then takes out the cells that
	// match one of its own.
	Include, Exclude []Match
	// Baseline is the cell that others are compared with. nil: the first cell of each workload.
	Baseline *Baseline
	// Blocks is how often every cell is run.
	Blocks int
	// Seed makes the order of trials repeatable. 0: a random one for each run.
	Seed uint64
	// Timeout bounds one trial from its layout to the end of its window. After that, it bounds each time without progress
	// of its buffered writes.
	Timeout time.Duration
	// IOEngine is Common, Best, or the name of an I/O engine.
	IOEngine string
	// Margin is the zone of equivalence, as a share: 0.05 is +-5 %.
	Margin float64
}

// An EngineSpec is one engine of a plan: a kind of engine and its options.
type EngineSpec struct {
	// Name is the plan's name for it.
	Name string
	// Engine is its kind: Host, OCI, Docker or VM.
	Engine string
	// Image and Seccomp are as in engine.Spec.
	Image   string
	Seccomp string
	// Runtime names the OCI runtime ("crun", "runc", or one that the daemon
	// knows). Empty: the first that works, or the daemon's default.
	Runtime string
	// Isolation is Process or HyperV on a daemon of Windows containers. Empty: the daemon's default.
	Isolation string
	// Machine describes the virtual machines of an engine of kind VM; zero for the others.
	Machine Machine
}

// A Machine is the options of an engine of kind VM. Zero fields are left to the engine.
type Machine struct {
	// Kernel is the path of the kernel's file, Modules that of the folder of its modules.
	Kernel, Modules string
	// Accel is kvm or tcg. Share is 9p, virtiofs, smb or nfs, Cache its cache mode, and MSize the largest 9p message in
	// bytes.
	Accel, Share, Cache string
	MSize               int64
	// Vers is the NFS version; RSize and WSize are its largest read and write in bytes. Sync makes its writes synchronous.
	Vers         string
	RSize, WSize int64
	Sync         bool
	// Disk is the size of the machine's own disk in bytes, Format the format of its file, DiskCache QEMU's word for its
	// cache.
	Disk              int64
	Format, DiskCache string
	// Memory is in bytes.
	Memory int64
	CPUs   int
	// Limits is inside or outside: where the limits of a cell apply.
	Limits string
	// Boot boots each machine instead of resuming a saved one.
	Boot bool
}

// Ways to isolate a Windows container.
const (
	Process = "process"
	HyperV  = "hyperv"
)

// A Baseline names the cell of each workload that the others are compared with.
type Baseline struct {
	Engine string
	Place  string
	// Source, if empty, is Place if that is one of the plan's sources, else the first source that the engine has.
	Source string
	// Limits and Clients are the plan's first if they are empty or 0.
	Limits  string
	Clients int
}

// Workload returns the workload of that name, false if there is none.
func (p *Plan) Workload(name string) (workload.Spec, bool) {
	for _, w := range p.Workloads {
		if w.Name == name {
			return w, true
		}
	}
	return workload.Spec{}, false
}

// Engine returns the engine of that name, false if there is none.
func (p *Plan) Engine(name string) (EngineSpec, bool) {
	for _, e := range p.Engines {
		if e.Name == name {
			return e, true
		}
	}
	return EngineSpec{}, false
}

// Place returns the place of that name, false if there is none.
func (p *Plan) Place(name string) (place.Spec, bool) {
	for _, s := range p.Places {
		if s.Name == name {
			return s, true
		}
	}
	return place.Spec{}, false
}

// Limit returns the set of limits of that name, false if there is none.
func (p *Plan) Limit(name string) (limit.Limits, bool) {
	for _, l := range p.Limits {
		if l.Name == name {
			return l, true
		}
	}
	return limit.Limits{}, false
}
