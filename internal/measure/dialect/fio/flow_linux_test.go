package fio

import (
	"strconv"
	"strings"
	"testing"
)

// Jobs of a flow do I/Os in the relation of their weights, as with fio, and one goes on alone when the others have ended.
func TestFlowIsFios(t *testing.T) {
	for name, args := range map[string][]string{
		"null":         {"--ioengine=null"},
		"synchronous":  {"--ioengine=psync"},
		"asynchronous": {"--ioengine=libaio", "--iodepth=4", "--flow_sleep=100"},
	} {
		t.Run(name, func(t *testing.T) {
			// Jobs start and end at different times on a busy machine, and what one does alone is no more than this by its pauses.
			args := append([]string{"--size=1m", "--time_based", "--runtime=1s", "--thinktime=500us", "--norandommap"}, args...)
			args = append(args, "--name=one", "--rw=randread", "--flow=1", "--name=eight", "--rw=randwrite", "--flow=8", "--name=apart", "--rw=randread", "--flow=5", "--flow_id=2")
			for who, do := range map[string]func(*testing.T, string, ...string) string{"fio": peer, "ours": run} {
				n := issued(do(t, t.TempDir(), args...))
				if len(n) != 3 {
					t.Fatalf("%s: %v", who, n)
				}
				reads, writes := countAt(t, n[0], 0), countAt(t, n[1], 1)
				// When one has ended the other has the flow to itself, for as long as its start came later: package load compares them before.
				if got := writes / reads; got < 2.5 || got > 20 || reads < 20 {
					t.Errorf("%s: %v writes and %v reads, %.2f times as many, want 8", who, writes, reads, got)
				}
			}
		})
	}
	out := run(t, t.TempDir(), "--ioengine=null", "--rw=read", "--name=short", "--size=64k", "--flow=1", "--name=long", "--size=64m", "--flow=1")
	if n := issued(out); len(n) != 2 || n[0] != "16,0,0" || n[1] != "16384,0,0" {
		t.Errorf("jobs of which one ends first did %v", n)
	}
	if _, err := Parse([]string{"--name=a", "--size=4k", "--flow=1", "--startdelay=1"}, Source{}); err == nil || !strings.Contains(err.Error(), "start together") {
		t.Errorf("flow with startdelay: %v", err)
	}
}

// countAt is one of the counts of an output's line.
func countAt(t *testing.T, line string, i int) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(strings.Split(line, ",")[i], 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
