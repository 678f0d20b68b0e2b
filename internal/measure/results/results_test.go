package results

import (
	"bytes"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/texttest"
)

// TestTrialOnTwoDevices shows a trial whose clients stand on two disks.
func TestTrialOnTwoDevices(t *testing.T) {
	tr := record.Trial{
		Results: []workload.Result{{}, {}},
		Where: []record.Where{
			{FSType: "ext4", Source: "/dev/vda1", Device: &record.Device{Name: "vda", Number: device.Number{Major: 254}}},
			{FSType: "xfs", Source: "/dev/vdb", Host: "node2", Device: &record.Device{Name: "vdb", Number: device.Number{Major: 254, Minor: 16}}},
		},
		Truth: []record.Truth{{AppRead: 1 << 20, Device: "vda", DeviceRead: 1 << 20}, {AppRead: 2 << 20, Device: "vdb", DeviceRead: 3 << 20}},
	}
	var out strings.Builder
	printTrial(&out, &tr, 1, 1)
	texttest.Has(t, out.String(), []string{"Clients 1:", "ext4 on /dev/vda1", "Clients 2:", "xfs on /dev/vdb", "on machine node2", "2 MiB by the application", "3 MiB from the device"})
}

// TestSkippedOnce: one missing daemon is reported once, and not for each of its cells.
func TestSkippedOnce(t *testing.T) {
	var all []record.Skip
	for _, w := range []string{"a", "b", "c"} {
		for _, p := range []string{"bind", "layer"} {
			all = append(all, record.Skip{Cell: record.Cell{Workload: w, Engine: "docker", Place: p, Clients: 1}, Reason: "no daemon answers"})
		}
	}
	all = append(all, record.Skip{Cell: record.Cell{Workload: "a", Engine: "oci", Place: "volume", Clients: 1}, Reason: "it has none"})
	var b bytes.Buffer
	printSkipped(&b, all)
	want := "  6 cells of docker bind, docker layer at 3 workloads: no daemon answers\n  1 cell of oci volume at a: it has none\n"
	if b.String() != want {
		t.Errorf("printSkipped = \n%swant\n%s", b.String(), want)
	}
}
