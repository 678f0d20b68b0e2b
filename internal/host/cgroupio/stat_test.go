package cgroupio

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
)

// ioStat has lines of Linux 6.1 with iocost, of one with io.latency, and of one before 5.17 with
// devices that were never used.
const ioStat = `254:0 rbytes=100 wbytes=200 rios=1 wios=2 dbytes=3 dios=4 cost.vrate=100.00 cost.usage=9 cost.wait=1500 cost.indebt=0 cost.indelay=20
8:0 rbytes=5 wbytes=6 rios=7 wios=8 dbytes=0 dios=0 use_delay=0 delay_nsec=0 depth=max avg_lat=1 win=100
7:1 7:0 259:0 rbytes=11 wbytes=12 rios=13 wios=14 dbytes=15 dios=16
7:2 
(unknown) rbytes=0 wbytes=0 rios=6 wios=0 dbytes=0 dios=0
`

func TestParseStat(t *testing.T) {
	got, err := parseStat(ioStat)
	if err != nil {
		t.Fatal(err)
	}
	want := map[device.Number]Counters{
		{Major: 254, Minor: 0}: {ReadBytes: 100, WriteBytes: 200, DiscardBytes: 3, Reads: 1, Writes: 2, Discards: 4, Waited: 1500 * time.Microsecond, Delayed: 20 * time.Microsecond, Timed: true, Cost: 9 * time.Microsecond},
		{Major: 8, Minor: 0}:   {ReadBytes: 5, WriteBytes: 6, Reads: 7, Writes: 8},
		{Major: 259, Minor: 0}: {ReadBytes: 11, WriteBytes: 12, DiscardBytes: 15, Reads: 13, Writes: 14, Discards: 16},
		{Major: 7, Minor: 2}:   {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"8:0 rbytes=", "8:0 rbytes=x", "8:0 wios=-1", "8:0 wbytes=99999999999999999999"} {
		if got, err := parseStat(bad); err == nil {
			t.Errorf("parseStat(%q) = %v, want an error", bad, got)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	for line := range strings.Lines(ioStat) {
		f.Add(line)
	}
	f.Add(ioStat)
	f.Fuzz(func(t *testing.T, text string) {
		stats, err := parseStat(text)
		if err != nil {
			return
		}
		for key, s := range stats {
			if s.ReadBytes < 0 || s.Writes < 0 || !strings.Contains(text, key.String()) {
				t.Errorf("%q: %q, %+v", text, key, s)
			}
		}
	})
}
