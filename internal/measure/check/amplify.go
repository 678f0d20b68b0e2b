package check

import (
	"fmt"

	"plimsoll/internal/measure/record"
)

const (
	// amplified is how many bytes the device may move for one of the application.
	// Journals and metadata make it more; half as much again is worth showing.
	amplified = 1.5
	// amplifiedFloor is the least excess in bytes: below, it is a journal commit
	// or another program's log.
	amplifiedFloor = 256 << 10
	// ownMost is how many times what a worker was charged with its file system may plausibly
	// write for it: a page of data with a commit of its own costs a journal's descriptor, two or
	// three blocks of metadata and a commit record, and the metadata once more in its
	// place. Above it others' bytes dominate, and a factor would be theirs.
	ownMost = 10
)

// checkAmplification is check 21: what else did the device do for the
// application's bytes? It is evidence, not a doubt.
//
// The device's counters hold the I/O of all programs. Those of the worker's control group hold only its own,
// but neither a file system's journal nor its metadata, which the kernel charges to no group. So if
// both are known, the truth is between the two, and the note gives both ends.
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
		// Read on behalf of others, not of this process.
		if f.name == "read" && f.proc >= 0 && f.proc <= amplified*f.app {
			continue
		}
		// Writes beyond a direct job's overwrites are not a journal's but a neighbour's, and checkNeighbour reports them.
		if f.name == "written" && (v.direct || v.synced) && len(v.foreignBytes()) > 0 {
			continue
		}
		moved := f.device
		if f.name == "read" && f.proc >= 0 {
			moved = min(moved, max(f.proc, f.group)) // Others' reads are not charged to it.
		}
		e := v.evidence(f)
		e["factor"] = moved / f.app
		why := "metadata and journal"
		if f.name == "read" {
			why = "readahead and larger blocks"
		}
		// The kernel charges whole pages, which is more than small writes ask for.
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

// charged says whose the bytes that a device moved were, as far as the worker's group shows, and adds
// that to the evidence.
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
