// Package record holds the records of a run: the run itself, its trials, and the doubts about them. It judges nothing.
// Package trial makes records, store keeps them, stats and report read them.
package record

import (
	"encoding/json"
	"slices"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/workload"
)

// A Run is one execution of a plan, perhaps interrupted and resumed.
type Run struct {
	// ID sorts by time: 20261121-153000-3f9a.
	ID string `json:"id"`
	// Plan is the plan's name, PlanText its YAML after flags were applied, so that a
	// report can repeat it.
	Plan     string `json:"plan"`
	PlanText string `json:"plan_text"`
	// Command repeats the run.
	Command string `json:"command"`
	// Version is plimsoll's.
	Version string `json:"version"`
	Seed    uint64 `json:"seed"`
	// Blocks is how many blocks were asked for.
	Blocks int `json:"blocks"`
	// Quick is set when too few blocks were asked for to prove anything.
	Quick   bool      `json:"quick,omitempty"`
	Started time.Time `json:"started"`
	// Ended is zero while the run goes on, or if it was killed.
	Ended time.Time `json:"ended,omitzero"`
	// Sessions are the times in which the run was measured: one, and one more for each resume.
	Sessions []Session `json:"sessions,omitempty"`
	// Status is one of the constants below.
	Status string `json:"status"`
	// Machine is the fingerprint of the machine that ran plimsoll.
	Machine Machine `json:"machine"`
	// Ceiling is the load generator's rate on the null engine before the run.
	Ceiling Ceiling `json:"ceiling"`
	// IOEngine is the engine used by each block workload, by name, and why.
	IOEngine map[string]EngineChoice `json:"io_engine,omitempty"`
	// Baseline is the key of the cell that the others of its workload are compared with, by workload. Margin is the zone of
	// equivalence, such as 0.05.
	Baseline map[string]string `json:"baseline,omitempty"`
	Margin   float64           `json:"margin"`
	// Skipped lists the cells that could not be measured, with the reason.
	Skipped []Skip `json:"skipped,omitempty"`
	// Warnings are doubts about the run as a whole.
	Warnings []Warning `json:"warnings,omitempty"`
	// Looks are the times at which verdicts were there to be seen. More blocks may have been measured since.
	Looks []Look `json:"looks,omitempty"`
	// Safety says for which programs the places are safe, where that was asked.
	Safety []PlaceSafety `json:"safety,omitempty"`
}

// A Look is a number of blocks after which the verdicts of a run could be seen, by a person or by the run itself: its end, before
// it was resumed with more blocks, or one at which it decided what to measure on.
type Look struct {
	Blocks int `json:"blocks"`
	// LeftOut are the keys of the cells that are measured in no later block.
	LeftOut []string `json:"left_out,omitempty"`
}

// MeasuredIn reports whether the cell with that key is measured in a block, or was left out at a look before it.
func (r *Run) MeasuredIn(key string, block int) bool {
	for _, l := range r.Looks {
		if block >= l.Blocks && slices.Contains(l.LeftOut, key) {
			return false
		}
	}
	return true
}

// Statuses of runs and trials.
const (
	Running     = "running"
	Done        = "done"
	Failed      = "failed"
	Interrupted = "interrupted"
)

// A Session is a time in which one process measured a run.
type Session struct {
	Started time.Time `json:"started"`
	// Ended is zero while it goes on. For a killed session it is the end of its last trial, filled in when the run is
	// resumed.
	Ended time.Time `json:"ended,omitzero"`
}

// Took is how long the run was measured, without the pauses before it was resumed; 0 if
// that isn't known.
func (r *Run) Took() time.Duration {
	var took time.Duration
	for _, s := range r.Sessions {
		if !s.Ended.IsZero() {
			took += max(0, s.Ended.Sub(s.Started))
		}
	}
	return took
}

// EngineChoice is the I/O engine of a workload's cells.
type EngineChoice struct {
	Engine string `json:"engine"`
	// Why is the reason: "the strongest that works in all cells", or the cell and the reason that ruled a stronger one out.
	Why string `json:"why"`
}

// A Skip is a cell that was not run.
type Skip struct {
	Cell   Cell   `json:"cell"`
	Reason string `json:"reason"`
}

// Ceiling is the load generator's own limit.
type Ceiling struct {
	// IOPS is the rate of one thread on the null engine; 0: not measured.
	IOPS float64 `json:"iops"`
	// CPUs is how many CPUs the machine has.
	CPUs int `json:"cpus"`
}

// AAControl is the name, in every table, sentence and page, of a cell whose Control is set. Programs use stable names: the
// JSON key and column "control", the kind "control", and "#control" at the end of a cell's key.
const AAControl = "A/A control"

// A Cell is one combination of a plan's matrix, by the plan's names.
type Cell struct {
	Workload string `json:"workload"`
	Engine   string `json:"engine"`
	Place    string `json:"place"`
	Limits   string `json:"limits"`
	Clients  int    `json:"clients"`
	// Source is the place that the workload reads its sources from, if the plan names sources; else empty. It may be Place
	// itself.
	Source string `json:"source,omitempty"`
	// Control marks the second copy of the baseline: the AAControl.
	Control bool `json:"control,omitempty"`
}

// A Trial is one run of one cell.
type Trial struct {
	Run   string `json:"run"`
	Cell  Cell   `json:"cell"`
	Key   string `json:"key"`
	Block int    `json:"block"`
	// Order is the trial's position, from 0, among all trials of the plan, also those of cells that
	// were skipped. It grows over a run, and is the same when a run is resumed with other engines.
	Order   int       `json:"order"`
	Started time.Time `json:"started"`
	// Wall is how long the whole trial took. Overhead is the part of it that was not the measured window, ramp time or the
	// workload's own layout.
	Wall     time.Duration `json:"wall"`
	Overhead time.Duration `json:"overhead"`
	// SessionOpen is how long the container took to start, if this trial was the
	// first in its session, else 0. It is part of Wall.
	SessionOpen time.Duration `json:"session_open,omitempty"`
	// Status is Done or Failed.
	Status string `json:"status"`
	// Error, Phase and Log describe how a trial failed; Progress is how far it got.
	Error    string `json:"error,omitempty"`
	Phase    string `json:"phase,omitempty"`
	Log      string `json:"log,omitempty"`
	Progress string `json:"progress,omitempty"`
	// Waits lists what the processes of a trial waited for when its timeout ended it, a line each. Those of clients on
	// other machines are not known.
	Waits []string `json:"waits,omitempty"`
	// Command says how the program of a failed trial ended, with its output. That of a successful trial is in its Results.
	Command *workload.CommandEnd `json:"command,omitempty"`
	// Spec is the workload as it was run.
	Spec workload.Spec `json:"spec"`
	// Metric and Value are the figure by which the trial is compared. Value is all clients' work over the time from the
	// first one's start to the last one's end (workload.Together).
	Metric workload.Metric `json:"metric"`
	Value  float64         `json:"value"`
	// Results, Truth and Where hold one entry for each client, in the same order; a failed trial may have only Where.
	// DeviceUses groups the clients that share a disk.
	Results []workload.Result `json:"results,omitempty"`
	Truth   []Truth           `json:"truth,omitempty"`
	Where   []Where           `json:"where,omitempty"`
	// StartSkew is the time between the first and the last client's start.
	StartSkew time.Duration `json:"start_skew,omitempty"`
	Warnings  []Warning     `json:"warnings,omitempty"`
}

// Places names the cell's places, with the source first: "bind", or "bind -> layer" if the plan names sources.
func (c Cell) Places() string {
	if c.Source == "" {
		return c.Place
	}
	return c.Source + " -> " + c.Place
}

// Truth compares the bytes of one client's application with those below it, in its measured window. -1: unknown. The
// device's counters include all programs, and the other clients of the trial.
type Truth struct {
	AppRead       int64 `json:"app_read"`
	AppWritten    int64 `json:"app_written"`
	ProcRead      int64 `json:"proc_read"`
	ProcWritten   int64 `json:"proc_written"`
	CgroupRead    int64 `json:"cgroup_read"`
	CgroupWritten int64 `json:"cgroup_written"`
	// Device is the disk under the place ("vda"). It is empty if there is none (tmpfs) or it isn't known (network, another
	// machine); DeviceWhy then says why.
	Device        string        `json:"device,omitempty"`
	DeviceWhy     string        `json:"device_why,omitempty"`
	DeviceRead    int64         `json:"device_read"`
	DeviceWritten int64         `json:"device_written"`
	DeviceBusy    time.Duration `json:"device_busy"`
	// Layers are the devices from the one under the file system down to the hardware. For a virtual machine's disk or share
	// they include those of the host. Empty if there is no device or it isn't known.
	Layers []Layer `json:"layers,omitempty"`
}

// A Layer is one level between a file system and the hardware, with the counters of its devices in the window, for all
// programs.
type Layer struct {
	device.Layer
	// Host is set for a device of a virtual machine's host.
	Host    bool  `json:"host,omitempty"`
	Read    int64 `json:"read"`
	Written int64 `json:"written"`
	// Flushes is -1 if the kernel doesn't count them. One sync flushes each of several devices, so it is the largest count
	// of one device.
	Flushes int64 `json:"flushes"`
	// OthersFlushes is how many of them other programs may have caused: as many as such a window has at the rate just
	// before it, when the trial did nothing. If the layer may be one of several devices, it is that of the device with the
	// most other flushes.
	OthersFlushes int64 `json:"others_flushes,omitempty"`
	// FlushTime is how long the device of Flushes took for its flushes.
	FlushTime time.Duration `json:"flush_time,omitempty"`
}

// Name names the devices of a layer, and the host if they are the host's.
func (l Layer) Name() string {
	if l.Host {
		return l.Layer.Name() + " of the machine's host"
	}
	return l.Layer.Name()
}

// Where is the fingerprint of the storage of a client's data.
type Where struct {
	// Host names the machine on which the worker ran, if that isn't plimsoll's own. Devices of
	// the same name on two hosts are two devices.
	Host   string `json:"host,omitempty"`
	FSType string `json:"fs_type"`
	// Path is the host's folder, or device, under the place; empty where it isn't known.
	Path    string `json:"path,omitempty"`
	Options string `json:"options"`
	Source  string `json:"source"`
	// Device holds the disk's properties; nil when there is none.
	Device *Device `json:"device,omitempty"`
	// From describes the storage of the sources, if that is another place; nil otherwise.
	From *From `json:"from,omitempty"`
	// Runtime, Daemon and Storage are the engine's words (engine.Info).
	Runtime string `json:"runtime,omitempty"`
	Daemon  string `json:"daemon,omitempty"`
	Storage string `json:"storage,omitempty"`
	Kernel  string `json:"kernel"`
	// CgroupVersion is the version of the worker's io/blkio controller: 1, 2, 0 unknown.
	CgroupVersion int `json:"cgroup_version"`
	// Isolation is how a daemon of Windows containers was asked to isolate the container; empty: it wasn't asked.
	Isolation string `json:"isolation,omitempty"`
	// Limits are the limits that were asked for, and Held those in force; nil if none were asked for, or it isn't known.
	Limits string      `json:"limits,omitempty"`
	Held   *limit.Held `json:"held,omitempty"`
	// Foreign are limits on the worker's I/O rates that the cell doesn't have but that were in force at the trial's start
	// or end, set by others on plimsoll or on the container.
	Foreign []limit.Applied `json:"foreign,omitempty"`
	// Costs are the shares of devices' time that the worker's group used, by iocost's models, which limit all groups.
	Costs []Cost `json:"costs,omitempty"`
	// Dirty is how much unwritten data a memory limit leaves to the worker's group; nil if no limit applies.
	Dirty *Dirty `json:"dirty,omitempty"`
	// Memory is the memory limit in effect on the worker's group, in bytes, set by the plan or around plimsoll. 0: none, or
	// not known.
	Memory int64 `json:"memory,omitempty"`
	// InMemory says why data is in memory although it seems to be on a disk or another file system; empty: it isn't known
	// to be.
	InMemory string `json:"in_memory,omitempty"`
	// Unseen says why it isn't known what is beneath the place's device; empty: it is known, or there is no device.
	// MaybeMemory is set if it can be memory.
	Unseen      string `json:"unseen,omitempty"`
	MaybeMemory bool   `json:"maybe_memory,omitempty"`
	// Unflushed is the mount option that makes the file system answer syncs without flushing the disk; empty: there is
	// none.
	Unflushed string `json:"unflushed,omitempty"`
	// JournalInMemory says why the file system's journal is in memory while its data is on a disk; empty: it isn't known to
	// be.
	JournalInMemory string `json:"journal_in_memory,omitempty"`
}

// A Cost is the share of a device's time that a group used in the window, by iocost's model of the device. At 1 iocost
// holds the group back.
type Cost struct {
	Device string        `json:"device"`
	Number device.Number `json:"number"`
	Group  string        `json:"group"`
	Share  float64       `json:"share"`
}

// A Dirty is how many bytes of a group's data may be unwritten before version 2 makes writers wait for the disk, by the
// memory limit of the group or of one above it.
type Dirty struct {
	Room  int64  `json:"room"`
	Limit int64  `json:"limit"`
	Group string `json:"group"`
}

// From describes the storage of a workload's sources.
type From struct {
	FSType  string `json:"fs_type"`
	Path    string `json:"path,omitempty"`
	Options string `json:"options,omitempty"`
	Source  string `json:"source,omitempty"`
	// Device is nil if there is none, or it isn't known.
	Device *Device `json:"device,omitempty"`
}

// A Device is a block device under a place, as package device finds it.
type Device = device.Device

// A Machine is the fingerprint of a host.
type Machine struct {
	Hostname string `json:"hostname"`
	OS       string `json:"os"`
	Kernel   string `json:"kernel"`
	Arch     string `json:"arch"`
	CPUModel string `json:"cpu_model"`
	CPUs     int    `json:"cpus"`
	// Memory is in bytes.
	Memory int64 `json:"memory"`
	// Virtual is the hypervisor, if it can be recognized.
	Virtual string `json:"virtual,omitempty"`
	// Cgroup is "v1", "v2" or "hybrid".
	Cgroup string `json:"cgroup"`
	// Clock is the kernel's clock source.
	Clock string `json:"clock"`
}

// A Warning is a doubt about a number, with its evidence. It is printed next to
// the number.
type Warning struct {
	// Check names the check that raised it: "cache", "direct", "unwritten", ...
	Check string `json:"check"`
	// Severity is Note or Doubt: a Doubt means that the number does not show what
	// it seems to.
	Severity string `json:"severity"`
	// Text is the verdict in a plain sentence, with its figures.
	Text string `json:"text"`
	// Unsafe is set if a power cut may lose data that was synced: its syncs flushed nothing, or it is in memory.
	Unsafe bool `json:"unsafe,omitempty"`
	// Evidence holds the figures for machines.
	Evidence json.RawMessage `json:"evidence,omitempty"`
}

// Severities of a Warning.
const (
	Note  = "note"
	Doubt = "doubt"
)
