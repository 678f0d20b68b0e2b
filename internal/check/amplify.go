package check

import "plimsoll/internal/record"

const (
	// amplified is how many bytes the device may move for one of the application.
	// Journals and metadata make it more; half as much again is worth showing.
	amplified = 1.5
	// amplifiedFloor is the least excess in bytes: below, it is a journal commit
	// or somebody's log.
	amplifiedFloor = 256 << 10
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
		e := v.evidence(f)
		e["factor"] = f.device / f.app
		why := "metadata and journal"
		if f.name == "read" {
			why = "readahead and larger blocks"
		}
		out = append(out, warning(Amplification, record.Note, e, "The device moved %.1f bytes for each byte %s (%s for %s): %s, and whatever else used %s.",
			f.device/f.app, f.name, bytes(f.device), bytes(f.app), why, v.truth.Device)...)
	}
	return out
}
