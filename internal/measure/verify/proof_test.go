package verify

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify/row"
)

// TestVerifyText: all that is printed of rows, each column of it.
func TestVerifyText(t *testing.T) {
	const mib = 1 << 20
	v := Proof{Part: "container web", Ground: "volume data", Device: "loop1", number: device.Number{Major: 7, Minor: 1}, Rows: []row.Row{
		{Key: limit.WriteBPS, Mode: row.Direct, Asked: 8 * mib, App: 8.1 * mib, Device: 7.99 * mib, Seen: 8.1 * mib, Off: 0.0125, Overshoot: 0.08, Converged: 300 * time.Millisecond, Elapsed: 5 * time.Second, Verdict: judge.Held},
		// Others' I/O is shown beside the device's, and a rate that never settled isn't said to have settled.
		{Key: limit.WriteBPS, Mode: row.DSync, Asked: 8 * mib, App: 5 * mib, Device: 346 * mib, Others: 338 * mib, Seen: 5 * mib, Off: -0.375, Converged: -1, Elapsed: 5 * time.Second, Verdict: judge.Held},
		// Neither has a first second of its own.
		{Key: limit.WriteBPS, Mode: row.BufferedSync, Asked: 8 * mib, App: 8 * mib, Device: 8 * mib, Seen: 8 * mib, Overshoot: 1, Elapsed: 5 * time.Second, Verdict: judge.Held},
		{
			Key: limit.WriteBPS, Mode: row.Buffered, Asked: 8 * mib, App: 968 * mib, Device: 344 * mib, Seen: 344 * mib, Off: 42, Overshoot: 3, Converged: -1, Elapsed: time.Second, Verdict: judge.NotHeld,
			Why: "the flusher\nwrites it", Fix: "plimsoll limit set web --device-wide",
		},
		{Key: limit.ReadIOPS, Mode: row.Direct, Asked: 500, App: 300, Device: -1, Others: -1, Seen: 300, Off: -0.4, Converged: -1, Elapsed: 3 * time.Second, Verdict: judge.Unproved, Why: "the disk is slower"},
		// One that wasn't measured has no figures.
		{Key: limit.ReadIOPS, Mode: row.Buffered, Asked: 500, Converged: -1, Verdict: judge.Failed, Error: "no room"},
	}}
	const want = `container web, volume data, on loop1 (7:1):
limit      mode            asked     application  device                         error      first second  settled after  verdict
write_bps  direct          8 MiB/s   8.1 MiB/s    7.99 MiB/s                     +1.2 %     +8 %          300 ms         held: asked 8 MiB/s, saw 8.1 MiB/s (+1.2 %)
write_bps  dsync           8 MiB/s   5 MiB/s      346 MiB/s (338 MiB/s others')  -37.5 %    +0 %                         held: asked 8 MiB/s, saw 5 MiB/s (-37.5 %); with what the file system adds the device saw 8 MiB/s
write_bps  buffered+fsync  8 MiB/s   8 MiB/s      8 MiB/s                        +0.0 %                                  held: asked 8 MiB/s, saw 8 MiB/s (+0.0 %)
write_bps  buffered        8 MiB/s   968 MiB/s    344 MiB/s                      +4200.0 %                               limit NOT held: asked 8 MiB/s, saw 344 MiB/s (43 times)
read_iops  direct          500 IOPS  300 IOPS     unknown                        -40.0 %    +0 %                         unproved: the disk is slower
read_iops  buffered        500 IOPS                                                                                      failed: no room
write_bps, buffered, is not held: the flusher writes it
  fix: plimsoll limit set web --device-wide
`
	var out bytes.Buffer
	if err := v.Write(&out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestVerifySample: the manual's sample has the columns that are printed.
func TestVerifySample(t *testing.T) {
	var out bytes.Buffer
	if err := WriteRows(&out, nil); err != nil {
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
