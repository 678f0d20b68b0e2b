// Package plan reads plans: YAML files that span a matrix of workloads,
// engines, places, limits and numbers of clients, and say which of its cells
// are run, how often, and what they are compared with.
//
// Reading is strict, because a plan that is misread still yields numbers: an
// unknown key, a value without a unit, a key given twice, two names for the
// same cell or a matrix without cells are errors with file, line and column,
// and all of them are told at once.
//
// There is one table of keys (keys.go). The decoder, the encoder (Marshal), the
// JSON schema (Schema) and the hints for misspelled keys are made from it.
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
	// DefaultBlocks is the least at which a distribution-free 95 % interval of a median exists.
	DefaultBlocks = 6
	// QuickBlocks is what --quick runs when the plan's quick section has no
	// blocks of its own. It proves nothing, and reports say so.
	QuickBlocks = 3
	// DefaultTimeout bounds one trial.
	DefaultTimeout = time.Minute
	// DefaultMargin is the zone of equivalence around a ratio of 1.
	DefaultMargin = 0.05
	// DefaultLimits is the name of the set of limits that bounds nothing.
	DefaultLimits = "none"
)

// Choices of the I/O engine, beside the engines' own names (load.IOUring ...).
const (
	// Common is the strongest I/O engine that works in all cells of a workload.
	Common = "common"
	// Best is the strongest that works in each cell; then cells differ by more
	// than their place.
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
	// Description is what the plan answers, for people.
	Description string
	// Workloads, Engines, Places and Limits span the matrix, in the order of the
	// file. Their names are unique, and no two of a list are the same thing.
	Workloads []workload.Spec
	Engines   []EngineSpec
	Places    []place.Spec
	Limits    []limit.Limits
	// Sources are names of Places: those that workloads with sources (tree and command) read them from. Empty: they read from
	// the place that they write to.
	Sources []string
	// Clients lists how many workers run at once.
	Clients []int
	// Include, unless empty, keeps only the cells that one of its entries
	// matches. Exclude then takes out those that one of its own matches.
	Include, Exclude []Match
	// Baseline is what cells are compared with. nil: the first cell of each
	// workload.
	Baseline *Baseline
	// Blocks is how often every cell is run.
	Blocks int
	// Seed makes the order of trials repeatable. 0: one is drawn for each run.
	Seed uint64
	// Timeout bounds one trial, layout included, to the end of its window, and after that each time in which nothing of its
	// buffered writes reaches the storage.
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
	// Machine says which virtual machines an engine of kind VM makes; zero for the others.
	Machine Machine
}

// A Machine is the options of an engine of kind VM. The zero of each leaves it to the engine.
type Machine struct {
	// Kernel and Modules are paths: of the kernel's file, and of the folder of its modules.
	Kernel, Modules string
	// Accel is kvm or tcg. Share is 9p, virtiofs, smb or nfs, with its Cache and, of 9p, its largest message MSize in bytes.
	Accel, Share, Cache string
	MSize               int64
	// Vers is the version of NFS; RSize and WSize are the largest of its reads and writes in bytes. Sync: its writes are synced.
	Vers         string
	RSize, WSize int64
	Sync         bool
	// Disk is the size of its own disk in bytes, Format that of its file, DiskCache QEMU's word for its cache.
	Disk              int64
	Format, DiskCache string
	// Memory is in bytes.
	Memory int64
	CPUs   int
	// Limits is inside or outside: where the limits of a cell hold.
	Limits string
	// Boot: no saved machine is used.
	Boot bool
}

// Ways to keep a Windows container apart.
const (
	Process = "process"
	HyperV  = "hyperv"
)

// A Baseline names the cell of each workload that its others are compared with.
type Baseline struct {
	Engine string
	Place  string
	// Source is Place if it is empty and Place is one of the plan's sources, else the first of these that the engine has.
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
