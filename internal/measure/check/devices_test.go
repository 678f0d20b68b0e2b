package check

import (
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// second adds a client like the first.
func second(t *record.Trial) {
	r := t.Results[0]
	r.Disks = append([]workload.DiskDelta{}, r.Disks...)
	t.Results = append(t.Results, r)
	t.Where = append(t.Where, t.Where[0])
	t.Cell.Clients = 2
}

// TestClientsOnDisks has trials of two clients. On one disk their bytes are to be
// taken together, since the disk counts both; on two, each must be judged by its own disk.
func TestClientsOnDisks(t *testing.T) {
	testRows(t, []row{
		{"one disk", func(t *record.Trial) {
			second(t)
			for i := range t.Results {
				t.Results[i].Disks[0].ReadBytes *= 2 // It counts what both did.
			}
			retruth(t)
		}, ""},
		{"one disk, one client is served by the page cache", func(t *record.Trial) {
			second(t)
			buffered(t)
			t.Results[1].File = t.Results[0].File
			t.Results[1].ProcRead = 0
			retruth(t)
		}, "cache/doubt"},
		{"two disks of one machine, the second client reads memory", func(t *record.Trial) {
			second(t)
			t.Where[1].Device = &record.Device{Name: "vdb", Number: device.Number{Major: 254, Minor: 16}, Stack: []string{"vdb"}}
			retruth(t) // The second disk did nothing.
		}, "cache/doubt unlike/note"},
		{"two machines, disks of the same name", func(t *record.Trial) {
			second(t)
			t.Where[1].Host = "node2"
			retruth(t)
		}, "unlike/note"},
	})
}

func TestClientWords(t *testing.T) {
	for _, row := range []struct {
		clients []int
		want    string
	}{
		{[]int{1}, "Client 2"},
		{[]int{0, 2}, "Clients 1 and 3"},
		{[]int{0, 1, 4}, "Clients 1, 2 and 5"},
		{[]int{3, 4, 5, 6, 7, 8, 9, 10, 11}, "9 clients from client 4 on"},
	} {
		if got := clientWords(row.clients); got != row.want {
			t.Errorf("clientWords(%v) = %q, want %q", row.clients, got, row.want)
		}
	}
}

// TestMovedLooksAtEveryClient has a run whose second client moved to another disk.
func TestMovedLooksAtEveryClient(t *testing.T) {
	before, after := clean(), clean()
	second(before)
	second(after)
	after.Block, after.Order = 1, 1
	after.Where[1].Device = &record.Device{Name: "vdb", Number: device.Number{Major: 254, Minor: 16}, Stack: []string{"vdb"}}
	ws := heard(testRun(), []record.Trial{*before, *after})
	if len(ws) != 1 || ws[0].Check != Unlike || !strings.Contains(ws[0].Text, "from block 2 on its trials ran under other conditions than before: device: vda / vdb") {
		t.Errorf("Run = %v, want that the storage changed", texts(ws))
	}
}
