package check

import "plimsoll/internal/record"

const (
	// amplified is how many bytes the device may move for one of the application.
	// Journals and metadata make it more; half as much again is worth showing.
	amplified = 1.5
	// amplifiedFloor is the least excess in bytes: below, it is a journal commit
	// or somebody's log.
	amplifiedFloor = 256 << 10
	// ownMost is how many times what a worker was charged with its file system may plausibly
	// write for it: a page of data with a commit of its own costs a journal's descriptor, two or
	// three blocks of metadata and a commit record, and the metadata once more in its
	// place. Above it others' bytes dominate, and a factor would be theirs.
	ownMost = 10
)

// checkAmplification is check 21: what else did the device do for the
// application's bytes? It is evidence, not a doubt.
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
		// What the kernel charges is by the page, and more than small writes ask for.
		if f.device > ownMost*max(f.app, f.proc, f.group) {
			delete(e, "factor")
			out = append(out, warning(Amplification, record.Note, e, "In the window %s moved %s, and this trial had %s %s: the rest is %s, or others' who used the device. They can't be told apart.",
				v.truth.Device, bytes(f.device), bytes(f.app), f.name, why)...)
			continue
		}
		out = append(out, warning(Amplification, record.Note, e, "The device moved %.1f bytes for each byte %s (%s for %s): %s, and whatever else used %s.",
			moved/f.app, f.name, bytes(moved), bytes(f.app), why, v.truth.Device)...)
	}
	return out
}
