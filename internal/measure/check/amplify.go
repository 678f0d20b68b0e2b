package check

import (
	"fmt"

	"plimsoll/internal/measure/record"
)

const (
	// amplified is the ratio of device bytes to application bytes from which a note is shown. Journals and metadata always
	// add some; half as much again is worth showing.
	amplified = 1.5
	// amplifiedFloor is the least excess in bytes that counts. Less than that is a journal commit or another program's log.
	amplifiedFloor = 256 << 10
	// ownMost is the largest plausible ratio of the bytes that the device wrote to those that the kernel charged to the
	// worker. A page of data with a commit of its own costs a journal descriptor, two or three blocks of metadata, a commit
	// record, and later the metadata in its final place. Above this ratio most bytes came from other programs, and the note
	// gives no factor.
	ownMost = 10
)

// checkAmplification is check 21: what else did the device do for the application's bytes? It is evidence, not a doubt.
//
// The device's counters include the I/O of all programs. The counters of the worker's control group include its own only,
// but not the file system's journal and metadata, which the kernel charges to no group. If both are known, the truth lies
// between them, and the note gives both ends.
func checkAmplification(v *view) []record.Warning {
	if !v.onDisk() {
		return nil
	}
	var out []record.Warning
	for _, f := range []flow{v.read, v.written} {
		excess := f.device - f.app
		if f.app < baseSlack || f.device <= amplified*f.app || excess < amplifiedFloor+v.slack {
			continue
		}
		// These reads served other processes.
		if f.name == "read" && f.proc >= 0 && f.proc <= amplified*f.app {
			continue
		}
		// A direct job's overwrites need no journal. The excess is a neighbour's, and checkNeighbour reports it.
		if f.name == "written" && (v.direct || v.synced) && len(v.foreignBytes()) > 0 {
			continue
		}
		moved := f.device
		if f.name == "read" && f.proc >= 0 {
			moved = min(moved, max(f.proc, f.group)) // The kernel doesn't charge others' reads to the worker.
		}
		e := v.evidence(f)
		e["factor"] = moved / f.app
		why := "metadata and journal"
		if f.name == "read" {
			why = "readahead and larger blocks"
		}
		// The kernel charges whole pages: more than small writes ask for.
		if f.device > ownMost*max(f.app, f.proc, f.group) {
			delete(e, "factor")
			out = append(out, warning(Amplification, record.Note, e, "%s moved %s in the window, but this trial had only %s of bytes %s. The rest is %s, or the I/O of others on the device: its counters don't separate them.",
				v.truth.Device, bytes(f.device), bytes(f.app), f.name, why)...)
			continue
		}
		out = append(out, warning(Amplification, record.Note, e, "The device moved %.1f bytes for each byte %s (%s for %s)%s",
			moved/f.app, f.name, bytes(moved), bytes(f.app), v.charged(f, moved, why, e))...)
	}
	return out
}

// charged says how much of the bytes that a device moved belongs to the worker, as far as its group's counters show, and
// adds that to the evidence.
func (v *view) charged(f flow, moved float64, why string, e map[string]any) string {
	if f.name == "read" || f.group < 0 {
		return fmt.Sprintf(": %s, and any I/O of others on %s.", why, v.truth.Device)
	}
	e["factor_least"] = f.group / f.app
	if moved-f.group < amplifiedFloor+v.slack {
		return ". The kernel charged all of them to this trial: whole pages, and the file system's own writes for it."
	}
	return fmt.Sprintf(". The kernel charged %s of them to this trial (%.1f for each byte). The rest is %s, which it charges to no process, or the I/O of others on %s.",
		bytes(f.group), f.group/f.app, why, v.truth.Device)
}
