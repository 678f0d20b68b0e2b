package cgroupio

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ioStat has lines of Linux 6.1 with iocost, of one with io.latency, and of one before 5.17 with
// devices that were never used.
const ioStat = `254:0 rbytes=100 wbytes=200 rios=1 wios=2 dbytes=3 dios=4 cost.vrate=100.00 cost.usage=9
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
	want := map[string]stat{
		"254:0": {readBytes: 100, writeBytes: 200, discardBytes: 3, reads: 1, writes: 2, discards: 4},
		"8:0":   {readBytes: 5, writeBytes: 6, reads: 7, writes: 8},
		"259:0": {readBytes: 11, writeBytes: 12, discardBytes: 15, reads: 13, writes: 14, discards: 16},
		"7:2":   {},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(stat{})); diff != "" {
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
			if !strings.Contains(key, ":") || s.readBytes < 0 || s.writes < 0 || !strings.Contains(text, key) {
				t.Errorf("%q: %q, %+v", text, key, s)
			}
		}
	})
}
