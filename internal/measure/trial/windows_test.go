package trial

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/plan"
)

// TestSessionsOfWindows: a plan's limits and isolation of Windows containers reach the engine, which puts them into its request
// (engine's TestDockerWindowsRequest).
func TestSessionsOfWindows(t *testing.T) {
	p, err := plan.Parse("p", []byte(`name: p
workloads: {w: {kind: append}}
engines: [{name: vm, kind: docker, image: nano, isolation: hyperv}]
places: {volume: {}}
limits: {caps: {io_maxiops: 100, io_maxbandwidth: 5MiB, cpus: 1.5, cpu_shares: 1500, memory: 4GiB}}
`))
	if err != nil {
		t.Fatal(err)
	}
	sessions := (&Runner{Plan: p}).sessions(p.Cells()[0])
	got := sessions[0].spec
	got.ID = ""
	want := engine.Spec{
		Place: place.Spec{Name: "volume", Kind: place.Volume}, Image: "nano", Isolation: "hyperv",
		Limits: limit.Limits{Name: "caps", SystemIOPS: 100, SystemBPS: 5 << 20, CPUs: 1.5, CPUShares: 1500, Memory: 4 << 30},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s := got.Limits.String(); s != "memory=4GiB cpus=1.5 cpu_shares=1500 io_maxiops=100 io_maxbandwidth=5MiB" {
		t.Errorf("the record calls them %q", s)
	}
}
