package verify

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/testkit/golden"
)

// TestVerifyText: all that is printed of rows, each column of it.
func TestVerifyText(t *testing.T) {
	const mib = 1 << 20
	v := Result{GroupSet: "container web", Place: "volume data", Device: "loop1", number: device.Number{Major: 7, Minor: 1}, Rows: []row.Row{
		{Finding: judge.Finding{Key: limit.WriteBPS, Asked: 8 * mib, Seen: 8.1 * mib, Off: 0.0125, Verdict: judge.Held}, Mode: row.Direct, App: 8.1 * mib, Device: 7.99 * mib, Overshoot: 0.08, Converged: 300 * time.Millisecond, Elapsed: 5 * time.Second},
		// Others' I/O is shown beside the device's, and a rate that never settled isn't said to have settled.
		{Finding: judge.Finding{Key: limit.WriteBPS, Asked: 8 * mib, Seen: 5 * mib, Off: -0.375, Verdict: judge.Held, Why: "with the file system's own writes it is 8 MiB/s"}, Mode: row.DSync, App: 5 * mib, Device: 346 * mib, Others: 338 * mib, Converged: -1, Elapsed: 5 * time.Second},
		// Neither has a first second of its own.
		{Finding: judge.Finding{Key: limit.WriteBPS, Asked: 8 * mib, Seen: 8 * mib, Verdict: judge.Held}, Mode: row.BufferedSync, App: 8 * mib, Device: 8 * mib, Overshoot: 1, Elapsed: 5 * time.Second},
		{Finding: judge.Finding{Key: limit.WriteBPS, Asked: 8 * mib, Seen: 344 * mib, Off: 42, Verdict: judge.NotHeld, Why: "the flusher\nwrites it"}, Mode: row.Buffered, App: 968 * mib, Device: 344 * mib, Overshoot: 3, Converged: -1, Elapsed: time.Second, Fix: "plimsoll limit set web --device-wide"},
		{Finding: judge.Finding{Key: limit.ReadIOPS, Asked: 500, Seen: 300, Off: -0.4, Verdict: judge.Unproved, Why: "the disk is slower"}, Mode: row.Direct, App: 300, Device: -1, Others: -1, Converged: -1, Elapsed: 3 * time.Second},
		// One that wasn't measured has no figures.
		{Finding: judge.Finding{Key: limit.ReadIOPS, Asked: 500, Verdict: judge.Failed}, Mode: row.Buffered, Converged: -1, Error: "no room"},
	}}
	var out bytes.Buffer
	if err := v.Write(&out); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "verify.txt", out.String())
}

// TestVerifySample: the manual's sample has the columns that are printed.
func TestVerifySample(t *testing.T) {
	var out bytes.Buffer
	if err := writeRows(&out, nil); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("../../../docs/reference/limit-verify.md")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(out.String())
	for line := range strings.Lines(string(b)) {
		if slices.Equal(strings.Fields(line), want) {
			return
		}
	}
	t.Errorf("docs/reference/limit-verify.md has no table with the columns %q", want)
}
