// Package check turns the records of a run into doubts about its numbers.
//
// A number of a storage benchmark is often right and yet not what it seems: the page cache answered, the generator was too
// slow, a neighbour wrote. Each check looks for one such cause in the records, and reports it in a sentence with figures.
// Checks are pure: the same records give the same warnings.
//
// A wrong warning costs trust, so each threshold leaves room for what is normal: measured windows of 150 to 500 ms, I/Os in
// flight at their ends, merged writes, readahead, journals, and device counters that count all programs. Where the kernel
// does not count, there is no verdict, and one note says so.
//
// docs/reference/checks.md has a section for each check; a test compares the two.
package check

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// Names of the checks, as in Warning.Check and in docs/reference/checks.md.
const (
	Cache         = "cache"
	Direct        = "direct"
	Unwritten     = "unwritten"
	Compressible  = "compressible"
	Generator     = "generator"
	Throttled     = "throttled"
	Burst         = "burst"
	Cap           = "cap"
	Neighbour     = "neighbour"
	Drift         = "drift"
	IOEngine      = "io-engine"
	Unlike        = "unlike"
	Amplification = "amplification"
	Clock         = "clock"
	Unsteady      = "unsteady"
	NeverSteady   = "never-steady"
	Unspoken      = "unspoken"
	Window        = "window"
	FirstTouch    = "first-touch"
	Overhead      = "overhead"
	Skew          = "skew"
	DeviceUnknown = "device-unknown"
	Rate          = "rate"
	EngineNote    = "engine-note"
	Limit         = "limit"
	Limited       = "limited"
	Warm          = "warm"
	Foreign       = "foreign-limit"
	Emulated      = "emulated"
	InFlight      = "in-flight"
	Sync          = "sync"
	Halted        = "halted"
)

// IDs lists them all.
var IDs = []string{
	Cache, Direct, Unwritten, Compressible, Generator, Throttled, Burst, Cap, Neighbour, Drift, IOEngine, Unlike,
	Amplification, Clock, Unsteady, NeverSteady, Unspoken, Window, FirstTouch, Overhead, Skew, DeviceUnknown, Rate, EngineNote,
	Limit, Limited, Warm, Foreign, Emulated, InFlight, Sync, Halted,
}

// Trial returns the doubts about one trial. run is its run, which holds the generator's ceiling and the machine; checks
// that need them are left out if run is nil. A failed trial has no doubts: its error is its result.
func Trial(t *record.Trial, run *record.Run) []record.Warning {
	if t == nil || t.Status != record.Done || len(t.Results) == 0 {
		return nil
	}
	if run == nil {
		run = &record.Run{}
	}
	views := look(t, run)
	var out []record.Warning
	for _, c := range []struct {
		// each is set for a check that judges each device of the clients by itself; the others judge the trial.
		each bool
		// storage is set for a check of data that was read and written. Requests to a server are neither.
		storage bool
		check   func(*view) []record.Warning
	}{
		// Was there a measurement at all?
		{false, false, checkWindow}, {false, false, checkInFlight}, {false, false, checkClock}, {false, false, checkSkew},
		// Did the storage do the I/O?
		{true, true, checkCache}, {true, true, checkSync}, {true, true, checkDirect}, {true, true, checkUnwritten}, {true, true, checkCompressible}, {true, true, checkAmplification},
		{false, true, checkWarm},
		// Was the generator fast enough?
		{false, false, checkIOEngine}, {true, false, checkGenerator}, {false, false, checkThrottled}, {true, false, checkHalted}, {false, false, checkRate}, {false, false, checkEngineNotes},
		{true, false, checkEmulated},
		// Did the trial's limits hold, and did they determine the figure?
		{false, true, checkLimit}, {false, true, checkLimited}, {true, true, checkForeignLimit},
		// Was the trial alone, steady, and everywhere on the same kind of storage?
		{true, false, checkNeighbour}, {false, false, checkSteady}, {false, true, checkFirstTouch}, {false, false, checkAlike},
	} {
		if c.storage && t.Spec.Kind == workload.HTTP {
			continue
		}
		if !c.each {
			out = append(out, c.check(views[0])...)
			continue
		}
		for _, v := range views {
			out = append(out, v.named(c.check(v))...)
		}
	}
	return out
}

// Run returns the doubts about a run as a whole: those that show only when its trials are compared.
func Run(run *record.Run, trials []record.Trial) []record.Warning {
	done := make([]*record.Trial, 0, len(trials))
	for i := range trials {
		if trials[i].Status == record.Done && len(trials[i].Results) > 0 {
			done = append(done, &trials[i])
		}
	}
	if run == nil {
		run = &record.Run{}
	}
	c := byCell(done)
	var out []record.Warning
	out = append(out, runIOEngines(run, c)...)
	out = append(out, runBuffers(c)...)
	out = append(out, runUnlike(run, c)...)
	out = append(out, runCaps(c)...)
	out = append(out, runFirstTouch(c)...)
	out = append(out, runDrift(c)...)
	out = append(out, runUnspoken(done)...)
	return append(out, runOverhead(done)...)
}

// A view is a trial as seen from one of its clients' devices, with the facts that several checks need. Almost every trial
// has one device.
type view struct {
	t   *record.Trial
	run *record.Run
	// where and truth describe the device, results and truths its clients.
	where   record.Where
	truth   record.Truth
	truths  []record.Truth
	results []workload.Result
	// clients names the device's clients if they are not all: "Client 2", "Clients 1 and 3".
	clients string
	// machine holds the results of all clients on the device's machine, which share its CPUs.
	machine []workload.Result
	// elapsed is the longest window of a client.
	elapsed time.Duration
	// block is set for jobs of package load, unless they use the null engine.
	block bool
	// direct is set when the file of every client on the device was opened with O_DIRECT.
	direct bool
	// synced is set when writes are made durable as part of the job.
	synced bool
	// memory is set when the place is memory by design.
	memory bool
	// slack is how many bytes one side may count and the other not: what is in flight or not yet written at the ends of the
	// window.
	slack float64
	// threads is how many threads of all clients on the machine do I/O.
	threads int
	// read and written are the bytes in each direction: the application's, and those that reached the storage.
	read, written flow
}

// A flow compares what the application moved with what the device did, in one direction.
type flow struct {
	name        string
	app         float64
	device      float64 // -1: unknown
	proc, group float64 // -1: unknown
}

// known reports whether the device's bytes are known.
func (f flow) known() bool { return f.device >= 0 }

// share is the device's bytes, plus the slack, over the application's. It exceeds 1 if the device did more.
func (f flow) share(slack float64) float64 {
	if f.app <= 0 {
		return 1
	}
	return (f.device + slack) / f.app
}

// warning returns a list of one warning. Figures that JSON can't represent are left out of the evidence.
func warning(check, severity string, evidence map[string]any, format string, args ...any) []record.Warning {
	for k, e := range evidence {
		if f, ok := e.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			delete(evidence, k)
		}
	}
	w := record.Warning{Check: check, Severity: severity, Text: fmt.Sprintf(format, args...)}
	// The values are numbers, strings and lists of them, which always encode.
	w.Evidence, _ = json.Marshal(evidence)
	return []record.Warning{w}
}

// unsafe marks warnings that synced data may be lost.
func unsafe(ws []record.Warning) []record.Warning {
	for i := range ws {
		ws[i].Unsafe = true
	}
	return ws
}

// isBlock reports whether a trial is a block job with real I/O.
func isBlock(t *record.Trial) bool {
	return (t.Spec.Kind == workload.Block || t.Spec.Kind == "") && t.Results[0].IOEngine != "null"
}
