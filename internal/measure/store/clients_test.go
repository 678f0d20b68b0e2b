package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/record"
)

// TestClientsKeepTheirOwn puts a trial of two clients on two disks.
func TestClientsKeepTheirOwn(t *testing.T) {
	s := openTemp(t)
	must(t, s.PutRun(sampleRun("r")))
	tr := sampleTrial("r", 7, 2)
	other := *tr.Where[0].Device
	other.Name, other.Number.Minor = "vdb", 16
	tr.Where = append(tr.Where, record.Where{Host: "node2", FSType: "xfs", Device: &other})
	tr.Truth = append(tr.Truth, record.Truth{AppRead: 5, Device: "vdb", DeviceRead: -1})
	must(t, s.PutTrial(tr))
	all, err := s.Trials("r", TrialsOptions{Histograms: true, Key: tr.Key, Block: &tr.Block})
	must(t, err)
	if d := cmp.Diff([]record.Trial{tr}, all); d != "" {
		t.Errorf("trials (-want +got):\n%s", d)
	}
}
