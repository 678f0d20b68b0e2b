// Package wire is the language between plimsoll and the worker: JSON lines over the worker's standard input and output.
//
// A worker runs as an agent, the first process of its container. It says hello, then answers each run request in a new
// process, so that one trial leaves nothing to the next:
//
//	parent                       agent
//	                      <----  {"hello": ...}
//	{"find": {command}}   ---->                         does a program exist?
//	                      <----  {"found": ...}
//	{"probe": {}}         ---->                         not while a trial is open; once per cell is enough
//	                      <----  {"probed": ...}        which I/O engines work here
//	{"step": {id, process, call}} ->                    a step of a safety check, in a process that stays
//	                      <----  {"stepped": {id, ...}}
//	{"run": {id, spec}}   ---->
//	                      <----  {"ready": {id}}        files laid out, rings set up
//	{"start": {id}}       ---->                         the barrier: all clients get it together
//	                      <----  {"sample": ...}        one a second, more in a short window
//	                      <----  {"round": ...}         the end of a round, if the job has a steady state
//	{"finish": {id, from}} --->                         all clients are steady since that round
//	{"ask": {id}}         ---->                         how far is it?
//	                      <----  {"status": ...}        what the result would be if the trial ended now
//	                      <----  {"hanging": ...}       the window is over; one a second while its I/Os are in flight
//	                      <----  {"settling": ...}      the window is over; one a second until buffered writes are on the storage
//	                      <----  {"halts": ...}         when the trial stood still, if it did
//	                      <----  {"result": ...}  or  {"error": ...}
//	end of input          ---->                         the agent ends, and the container with it
//
// The first process of a virtual machine says "booted" before all that, and "setup" tells it what its place is.
//
// The agent ends at the end of its input, so nothing outlives a plimsoll that was killed. Likewise, a trial's process
// ends with the agent. One message is one line; a line is at most MaxLine bytes.
package wire

import (
	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/step"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// MaxLine is the maximum length of a line in bytes, including its newline. A result with full histograms takes about
// 100 KiB.
const MaxLine = 16 << 20

// Version is the version of the language. Both sides are built together and one is embedded in the other, so a
// difference is a bug or a stale container.
const Version = 6

// OpenFiles is the number of files that a worker must be able to have open, if it can be allowed so many
// (RLIMIT_NOFILE): a line of fio's may name 16,384, and each thread also has a ring. The system's own limit may be
// 1,024 or 4,096.
const OpenFiles = 32768

// A Message is one line. Exactly one field is set.
type Message struct {
	// From the agent.
	Hello    *Hello    `json:"hello,omitempty"`
	Probed   *Probed   `json:"probed,omitempty"`
	Ready    *Ready    `json:"ready,omitempty"`
	Sample   *Sample   `json:"sample,omitempty"`
	Round    *Round    `json:"round,omitempty"`
	Hanging  *Result   `json:"hanging,omitempty"`
	Status   *Result   `json:"status,omitempty"`
	Settling *Settling `json:"settling,omitempty"`
	Halts    *Halts    `json:"halts,omitempty"`
	Result   *Result   `json:"result,omitempty"`
	Error    *Error    `json:"error,omitempty"`
	Booted   *Booted   `json:"booted,omitempty"`
	Found    *Found    `json:"found,omitempty"`
	Stepped  *Stepped  `json:"stepped,omitempty"`
	// From the parent.
	Setup  *Setup  `json:"setup,omitempty"`
	Find   *Find   `json:"find,omitempty"`
	Probe  *Probe  `json:"probe,omitempty"`
	Step   *Step   `json:"step,omitempty"`
	Run    *Run    `json:"run,omitempty"`
	Start  *Start  `json:"start,omitempty"`
	Finish *Finish `json:"finish,omitempty"`
	Ask    *Ask    `json:"ask,omitempty"`
	Stop   *Stop   `json:"stop,omitempty"`
}

// Hello is the agent's first line: who it is and where it runs.
type Hello struct {
	Version int `json:"version"`
	// PID is the agent's process id in its own namespace.
	PID int `json:"pid"`
	// Dir is the folder that it works in; Mount is the mount of that folder, from the worker's own mountinfo.
	Dir   string       `json:"dir"`
	Mount device.Mount `json:"mount"`
	// Source is the folder of the sources, if it is a different one; SourceMount is its mount.
	Source      string        `json:"source,omitempty"`
	SourceMount *device.Mount `json:"source_mount,omitempty"`
	// Arch and OS are Go's names; Kernel is uname's release.
	Arch   string `json:"arch"`
	OS     string `json:"os"`
	Kernel string `json:"kernel"`
	// Seccomp is the mode of /proc/self/status: 0 none, 2 filter.
	Seccomp int `json:"seccomp"`
	// CPUs is the number of CPUs that may be used at once.
	CPUs int `json:"cpus"`
}

// Probe asks which I/O engines work in the worker's folder. It is not part of the hello, because trying them takes
// longer than everything else that an agent does before its first trial, and asking once per cell is enough.
type Probe struct{}

// Probed is the answer.
type Probed struct {
	// Probes are the engines, the strongest first; each was tried by doing I/O.
	Probes []load.Probe `json:"probes"`
}

// Find asks whether a command's program exists, outside any trial. The answer is Found.
type Find struct {
	Command workload.CommandSpec `json:"command"`
}

// Found says where a command's program is, or why it was not found.
type Found struct {
	Path  string `json:"path,omitempty"`
	Error string `json:"error,omitempty"`
}

// Step asks a process of the agent's to take a step in its folder. The agent starts the process with its first step, and it
// keeps what it opened until the agent ends, or until End ends it. Steps of different processes run at the same time.
type Step struct {
	ID int `json:"id"`
	// Process is the caller's number for it.
	Process int       `json:"process"`
	Call    step.Call `json:"call"`
	// End kills the process instead.
	End bool `json:"end,omitempty"`
}

// Stepped is the answer to a Step.
type Stepped struct {
	ID int `json:"id"`
	step.Answer
}

// Run asks for a trial.
type Run struct {
	ID   string        `json:"id"`
	Spec workload.Spec `json:"spec"`
}

// Ready says that everything is prepared; Start then begins the I/O.
type Ready struct {
	ID string `json:"id"`
}

// Start begins the I/O of a trial that is ready. If the agent doesn't have the trial, it answers with an error.
type Start struct {
	ID string `json:"id"`
}

// Stop ends a trial early. The answer is the trial's error, or its result if that came first.
type Stop struct {
	ID string `json:"id"`
}

// Sample is progress while the trial runs (load.SampleEvery).
type Sample struct {
	ID string `json:"id"`
	load.Sample
}

// Round is the end of a round of a job with a steady state (workload.Judged). Rounds arrive in order, from the first.
type Round struct {
	ID string `json:"id"`
	load.Sample
}

// Finish ends such a job early: its result is that of the window of rounds that begins with number From. A trial that
// has already ended ignores it.
type Finish struct {
	ID   string `json:"id"`
	From int    `json:"from"`
}

// Ask asks a trial that was started for its Status. A trial that can't report one, or has ended, ignores it.
type Ask struct {
	ID string `json:"id"`
}

// Settling says that a trial's window is over and that its buffered writes are still being written to the storage.
type Settling struct {
	ID string `json:"id"`
	// Left is the number of bytes that the whole machine has yet to write back, -1 if unknown.
	Left int64 `json:"left"`
}

// Halts says when a trial's process stood still. The agent sends it before the result, because the process itself can't
// know.
type Halts struct {
	ID    string          `json:"id"`
	Halts []workload.Halt `json:"halts"`
}

// Result ends a trial that succeeded. As Message.Hanging it is what the result would be if the I/Os in flight never
// ended (load.Class.AtLeast).
type Result struct {
	ID string `json:"id"`
	workload.Result
}

// Phases of a trial, for Error.
const (
	PhasePrepare = "prepare"
	PhaseRun     = "run"
)

// Error ends a trial that failed, and says how far it got.
type Error struct {
	ID string `json:"id"`
	// Phase is where it happened: PhasePrepare or PhaseRun.
	Phase string `json:"phase"`
	// Text is the error; Errno is its number if it came from the kernel.
	Text  string `json:"text"`
	Errno int    `json:"errno,omitempty"`
	// Overwrite means that the trial was refused because it would overwrite data without permission
	// (workload.ErrOverwrite).
	Overwrite bool `json:"overwrite,omitempty"`
	// Missing means that a file of the trial doesn't exist and can't be created (workload.ErrMissing).
	Missing bool `json:"missing,omitempty"`
	// Signal is the signal that killed the trial's process, if any.
	Signal string `json:"signal,omitempty"`
	// Log holds the last lines of the trial's standard error.
	Log string `json:"log,omitempty"`
	// Command is the outcome of a trial's program, if it has one.
	Command *workload.CommandEnd `json:"command,omitempty"`
	// Done is how far it got: the operations and bytes of the whole window so far.
	Done *load.Sample `json:"done,omitempty"`
}
