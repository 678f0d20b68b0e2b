// Package workload describes the I/O of a trial and does it: block jobs, which package load runs, the named workloads
// append, wal and tree, and any program.
//
// A plan makes a Spec. It travels to the worker as JSON, and Prepare and Run run it there. The same code runs in every
// place, so that a difference between two cells is a difference between the places.
package workload

import (
	"slices"
	"time"

	"plimsoll/internal/measure/httpload"
	"plimsoll/load"
)

// A Kind names a family of workloads.
type Kind string

// The kinds. Block is any job in fio's vocabulary.
const (
	// Block is a job of package load.
	Block Kind = "block"
	// Append opens a file, appends a line, and closes it, Count times.
	Append Kind = "append"
	// WAL writes BS bytes at the end of a log and calls fdatasync, as a database
	// or etcd commits, for Runtime.
	WAL Kind = "wal"
	// Tree imitates the published site build (package website): Count source files are listed,
	// stat'ed and read, and an output is written for each.
	Tree Kind = "tree"
	// Stage is several block jobs that start together, on files that they name. The dialects of other tools use it; a plan
	// can't.
	Stage Kind = "stage"
	// Command runs a program, such as jekyll on a generated site, and times it.
	Command Kind = "command"
	// HTTP sends requests to a web server, as ab does. A plan can't use it yet.
	HTTP Kind = "http"
)

// A Spec is one workload of a plan.
type Spec struct {
	// Name is the plan's name for it.
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Job is the block job, for Block only. The worker sets its Filename.
	Job load.Job `json:"job,omitzero"`
	// Files is how many files a block job has, each of Job's size; 0 is one.
	Files int `json:"files,omitempty"`
	// Steady ends a block job when it is steady, at Job.Runtime at the latest.
	Steady SteadyState `json:"steady_state,omitzero"`
	// Fresh makes a block job of sequential writes create its file, which grows as it is written, as dd's does: nothing is
	// laid out before, and the file is removed with the trial.
	Fresh bool `json:"fresh,omitempty"`
	// Unsettled leaves a block job's writes in the page cache when the job is done, for a caller that measures how they
	// reach the storage.
	Unsettled bool `json:"unsettled,omitempty"`
	// Jobs are the jobs of a stage.
	Jobs []StageJob `json:"jobs,omitempty"`
	// Marks are the earlier stages' notes on files that their file system can't mark as Plimsoll's.
	Marks Marks `json:"marks,omitempty"`
	// HTTP describes the requests of http.
	HTTP *httpload.Spec `json:"http,omitempty"`
	// Count is the number of operations of append (default 10,000), or of source files of tree (default 360: a tenth of
	// the published site).
	Count int `json:"count,omitempty"`
	// BS is the size of one record in bytes: append (default 64), wal (default
	// 2,300: etcd's, as in its published fio job) and the mean source file of tree (default 16 KiB).
	BS int64 `json:"bs,omitempty"`
	// Runtime is how long wal commits (default 1 s). If set, append and tree repeat until it is over.
	Runtime time.Duration `json:"runtime,omitempty"`
	// Reads says whether the sources of tree and command are in the page cache when the window begins: Cold or Warm. Empty:
	// as making them, or the trial before, has left them.
	Reads string `json:"reads,omitempty"`
	// Command describes the program of command.
	Command *CommandSpec `json:"command,omitempty"`
}

// ReadsSources reports whether s reads files that are made before. They may lie in another place than its output.
func (s Spec) ReadsSources() bool { return s.Kind == Tree || s.Kind == Command }

// LeavesWrites reports whether a block job leaves writes in the page cache when it is done.
func (s Spec) LeavesWrites() bool {
	j := s.Job
	return s.Kind == Block && j.Writes() && !j.Direct && !j.Syncs()
}

// A Metric is the figure by which the trials of a workload are compared.
type Metric struct {
	// Name is its name in tables: "IOPS", "bandwidth", "commits", ...
	Name string `json:"name"`
	// Unit is "1/s" or "B/s", where higher is better, or Seconds, where lower is.
	Unit string `json:"unit"`
}

// Seconds is the Unit of a metric that is a time.
const Seconds = "s"

// LowerIsBetter reports whether a smaller value is the better one.
func (m Metric) LowerIsBetter() bool { return m.Unit == Seconds }

// Rate turns a value of m into one where higher is better, for comparing: a time into its inverse.
func (m Metric) Rate(v float64) float64 {
	if m.LowerIsBetter() {
		return 1 / v
	}
	return v
}

// largeBlock is the mean size of I/Os from which a block job is compared by bandwidth.
const largeBlock = 64 << 10

// Metric returns the figure by which trials of s are compared: bandwidth for
// block jobs with blocks of 64 KiB and more on average, operations per second otherwise.
func (s Spec) Metric() Metric {
	switch s.Kind {
	case Append:
		return Metric{"appends", "1/s"}
	case WAL:
		return Metric{"commits", "1/s"}
	case Tree:
		return Metric{"files", "1/s"}
	case Command:
		return Metric{"time", Seconds}
	case HTTP:
		return Metric{"requests", "1/s"}
	}
	if s.Kind == Stage {
		if len(s.Jobs) > 0 && !slices.ContainsFunc(s.Jobs, func(j StageJob) bool { return j.Job.BS < largeBlock }) {
			return Metric{"bandwidth", "B/s"}
		}
		return Metric{"IOPS", "1/s"}
	}
	if _, mean, _ := s.Job.BlockSizes(); mean >= largeBlock {
		return Metric{"bandwidth", "B/s"}
	}
	return Metric{"IOPS", "1/s"}
}
