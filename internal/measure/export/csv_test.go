package export

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// TestRowOnTwoDisks exports a trial whose clients have their data on two disks.
func TestRowOnTwoDisks(t *testing.T) {
	tr := record.Trial{
		Results: []workload.Result{{}, {}},
		Where: []record.Where{
			{FSType: "ext4", Source: "/dev/vda1", Device: &record.Device{Name: "vda", Number: device.Number{Major: 254}}},
			{FSType: "xfs", Source: "/dev/vdb", Host: "node2", Device: &record.Device{Name: "vdb", Number: device.Number{Major: 254, Minor: 16}}},
		},
		Truth: []record.Truth{{AppRead: 1 << 20, Device: "vda", DeviceRead: 1 << 20}, {AppRead: 2 << 20, Device: "vdb", DeviceRead: 3 << 20}},
	}
	got := map[string]string{}
	c := newRow(&tr)
	for _, col := range columns {
		got[col.name] = col.value(c)
	}
	for name, want := range map[string]string{"app_read_bytes": "3145728", "device": "vda + vdb", "device_read_bytes": "4194304", "fs_type": "ext4 + xfs"} {
		if got[name] != want {
			t.Errorf("column %s = %q, want %q", name, got[name], want)
		}
	}
}

// TestCSVIsolation: a trial's row says how its Windows containers were kept apart, each way once.
func TestCSVIsolation(t *testing.T) {
	for _, x := range []struct {
		clients []string
		want    string
	}{{[]string{""}, ""}, {[]string{"hyperv", "hyperv"}, "hyperv"}, {[]string{"process", "hyperv"}, "process + hyperv"}} {
		trial := &record.Trial{}
		for _, isolation := range x.clients {
			trial.Where = append(trial.Where, record.Where{Isolation: isolation})
		}
		var out strings.Builder
		e := newCSVWriter(&out)
		if err := e.run(nil); err != nil {
			t.Fatal(err)
		}
		if err := e.trial(trial); err != nil {
			t.Fatal(err)
		}
		e.out.Flush()
		rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.Index(rows[0], "isolation"); i < 0 || rows[1][i] != x.want {
			t.Errorf("%q: %q in column %d, want %q", x.clients, rows[1], i, x.want)
		}
	}
}

// TestDocumented holds docs/reference/results.md to the columns that there are.
func TestDocumented(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "results.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(b), "| column | unit | holds |")
	var names, documented []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	cellNames := regexp.MustCompile("`([a-z0-9_]+)`")
	for line := range strings.Lines(table) {
		first, _, ok := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		if !ok && len(documented) > 0 {
			break
		}
		for _, m := range cellNames.FindAllStringSubmatch(first, -1) {
			documented = append(documented, m[1])
		}
	}
	if d := cmp.Diff(names, documented); d != "" {
		t.Errorf("columns (-code +docs/reference/results.md):\n%s", d)
	}
}
