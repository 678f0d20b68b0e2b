package fio

import (
	"encoding/json"
	"testing"
)

// TestRateOfOneDirection: a rate of writes holds the writes alone, as fio's does; reads go on beside it, in the share of the
// mix at least.
func TestRateOfOneDirection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate        string
		reads, free bool
	}{{"--rate_iops=,500", false, true}, {"--rate=2m,", true, true}, {"--rate_iops=500,500", false, false}} {
		t.Run(c.rate, func(t *testing.T) {
			t.Parallel()
			args := []string{"--name=a", "--rw=randrw", "--bs=4k", "--size=1m", "--ioengine=psync", "--time_based", "--runtime=1", c.rate, "--output-format=json"}
			for who, text := range map[string]string{"fio": peer(t, t.TempDir(), args...), "plimsoll": run(t, t.TempDir(), args...)} {
				var out struct {
					Jobs []struct{ Read, Write struct{ IOPS float64 } }
				}
				if err := json.Unmarshal([]byte(text), &out); err != nil || len(out.Jobs) != 1 {
					t.Fatalf("%s %s: %v\n%s", who, c.rate, err, text)
				}
				held, other := out.Jobs[0].Write.IOPS, out.Jobs[0].Read.IOPS
				if c.reads {
					held, other = other, held
				}
				if asked := map[bool]float64{true: 512, false: 500}[c.reads]; held > 1.05*asked || held < asked/2 {
					t.Errorf("%s %s: %.0f IOPS are held to %.0f", who, c.rate, held, asked)
				}
				if free := other > 1.5*held; free != c.free {
					t.Errorf("%s %s: %.0f IOPS beside %.0f that are held", who, c.rate, other, held)
				}
			}
		})
	}
}
