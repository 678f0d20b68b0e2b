package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/testkit/golden"
)

func TestWeightEffect(t *testing.T) {
	var sheet golden.Sheet
	for _, tt := range []struct {
		name       string
		version    int
		files      map[string]string
		drop       []string
		device     device.Number
		by         string
		afterwards string // by, once PlanWeights for it was applied
	}{
		{name: "bfq", version: 2, device: sdb, by: "bfq"},
		{name: "bfq, version 1", version: 1, device: sdb, by: "bfq"},
		{name: "none", version: 2, device: vda, afterwards: "iocost"},
		{name: "none, bfq asked for", version: 1, device: vda, afterwards: "bfq"},
		{name: "bfq is not there", version: 2, files: map[string]string{"sys/devices/vda/queue/scheduler": "[none] mq-deadline\n"}, device: vda},
		{name: "neither is there", version: 1, files: map[string]string{"sys/devices/vda/queue/scheduler": "[none] mq-deadline\n"}, device: vda},
		{name: "iocost", version: 2, files: map[string]string{"cg/io.cost.qos": "8:16 enable=0 ctrl=auto\n254:0 enable=1 ctrl=auto rpct=0.00\n"}, device: vda, by: "iocost"},
		{name: "iocost is off", version: 2, files: map[string]string{"cg/io.cost.qos": "254:0 enable=0 ctrl=auto\n"}, device: vda},
		{name: "iocost in version 1's place", version: 3, device: vda},
		{name: "bfq without weights", version: 2, drop: []string{"cg/c/io.bfq.weight"}, device: sdb},
		{name: "stack", version: 2, device: dm0},
		{name: "no scheduler", version: 2, drop: []string{"sys/devices/vda/queue/scheduler"}, device: vda},
		{name: "gone", version: 2, device: nodev},
		{name: "cfq", version: 1, files: map[string]string{"sys/devices/vda/queue/scheduler": "noop [cfq]\n", "cg/blkio/c/blkio.weight": "500\n"}, device: vda, by: "cfq"},
	} {
		f := newFake(t, tt.version, "/c")
		for name, content := range tt.files {
			f.put(name, content)
		}
		f.drop(tt.drop...)
		g, err := f.target("/c").Group(hierarchy.IO)
		if err != nil {
			t.Fatal(err)
		}
		e := f.host.WeightEffect(g, tt.device)
		if e.By != tt.by || e.Works() != (tt.by != "") {
			t.Errorf("%s: works %v, by %q, want %q", tt.name, e.Works(), e.By, tt.by)
		}
		sheet.Add(tt.name, strings.ReplaceAll(strings.TrimSuffix("why: "+e.Why+"\nfix: "+e.Fix, "\nfix: "), f.root, "ROOT"))
		if tt.afterwards == "" {
			continue
		}
		d, err := f.host.PlanWeights(tt.device, tt.afterwards)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := d.Apply(); n != 1 || err != nil {
			t.Fatalf("%s: %d writes, %v", tt.name, n, err)
		}
		if e := f.host.WeightEffect(g, tt.device); e.By != tt.afterwards {
			t.Errorf("%s: afterwards %+v", tt.name, e)
		}
		if d, err := f.host.PlanWeights(tt.device, tt.afterwards); err != nil || !d.Empty() {
			t.Errorf("%s: again %+v, %v", tt.name, d, err)
		}
		// The prerequisite goes back as it was.
		for _, e := range d.Edits {
			for _, was := range e.Was {
				if err := f.write(e.File, was); err != nil {
					t.Error(err)
				}
			}
		}
		if e := f.host.WeightEffect(g, tt.device); e.Works() {
			t.Errorf("%s: undone %+v", tt.name, e)
		}
	}
	sheet.Check(t, "weight_effect.txt")
}

func TestPlanWeightsRefuses(t *testing.T) {
	f := newFake(t, 1, "/c")
	for _, tt := range []struct {
		d     device.Number
		by    string
		words string
	}{
		{vda, "cfq", "divides no disk by weight; choose bfq or iocost"},
		{vda, "iocost", "iocost is version 2's"},
		{dm0, "bfq", "dm-0 has no scheduler"},
		{vda1, "bfq", "give 254:0 (vda)"},
		{nodev, "bfq", "there is no block device"},
	} {
		if _, err := f.host.PlanWeights(tt.d, tt.by); err == nil || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("PlanWeights(%s, %s) = %v, want %q", tt.d, tt.by, err, tt.words)
		}
	}
}

// TestCost: only what differs is written, and undone as it was.
func TestCost(t *testing.T) {
	f := newFake(t, 2, "/c")
	apply := func(d *Diff, err error) []string {
		t.Helper()
		f.writes = nil
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Apply(); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(f.writes)
	}
	was := func(d *Diff, err error) [][]string {
		t.Helper()
		if err != nil || len(d.Edits) != 1 {
			t.Fatal(d, err)
		}
		return [][]string{d.Edits[0].Text, d.Edits[0].Was}
	}
	qos := QoS{Enable: true, RPct: 95, RLat: 5 * time.Millisecond, WPct: 95.5, WLat: 250 * time.Microsecond, Min: 50, Max: 150}
	line := "254:0 enable=1 rpct=95.00 rlat=5000 wpct=95.50 wlat=250 min=50.00 max=150.00"
	if diff := cmp.Diff([][]string{{line}, {"254:0 enable=0"}}, was(f.host.PlanQoS(vda, qos))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"cg/io.cost.qos " + line}, apply(f.host.PlanQoS(vda, qos))); diff != "" {
		t.Error(diff)
	}
	if w := apply(f.host.PlanQoS(vda, qos)); len(w) != 0 {
		t.Errorf("again: %q", w)
	}
	qos.Max, qos.RLat = 200, 0
	if diff := cmp.Diff([][]string{{"254:0 max=200.00"}, {"254:0 max=150.00"}}, was(f.host.PlanQoS(vda, qos))); diff != "" {
		t.Error(diff)
	}
	f.put("cg/io.cost.qos", "254:0 enable=0 ctrl=auto rpct=0.00\n")
	if diff := cmp.Diff([][]string{{"254:0 enable=1 rpct=50.00"}, {"254:0 enable=0 rpct=0.00 ctrl=auto"}}, was(f.host.PlanQoS(vda, QoS{Enable: true, RPct: 50}))); diff != "" {
		t.Error(diff)
	}
	model := Model{RBPS: 1e9, RSeqIOPS: 2e5, RRandIOPS: 1e5, WBPS: 5e8, WSeqIOPS: 1e5, WRandIOPS: 5e4}
	line = "cg/io.cost.model 254:0 rbps=1000000000 rseqiops=200000 rrandiops=100000 wbps=500000000 wseqiops=100000 wrandiops=50000"
	if diff := cmp.Diff([]string{line}, apply(f.host.PlanModel(vda, model))); diff != "" {
		t.Error(diff)
	}
	if w := apply(f.host.PlanModel(vda, model)); len(w) != 0 {
		t.Errorf("again: %q", w)
	}
	// Nobody else's line was touched.
	if b, err := os.ReadFile(filepath.Join(f.root, "cg/io.cost.model")); err != nil || strings.Count(string(b), "\n") != 1 {
		t.Errorf("io.cost.model is %q, %v", b, err)
	}
}

func TestCostRefuses(t *testing.T) {
	f := newFake(t, 2)
	for words, q := range map[string]QoS{
		"rpct: 101 is not a percentile":       {RPct: 101},
		"wpct: -1 is not a percentile":        {WPct: -1},
		"max: 0.5 is out of range":            {Max: 0.5},
		"min 90 is above max 50":              {Min: 90, Max: 50},
		"not a whole number of microseconds":  {RLat: 1},
		"wlat: -1ms is not a whole number of": {WLat: -time.Millisecond},
	} {
		if _, err := f.host.PlanQoS(vda, q); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%+v: %v, want %q", q, err, words)
		}
	}
	if _, err := f.host.PlanModel(vda, Model{RBPS: 1}); err == nil || !strings.Contains(err.Error(), "rseqiops is 0") {
		t.Errorf("PlanModel = %v", err)
	}
	if _, err := f.host.PlanQoS(vda1, QoS{}); err == nil || !strings.Contains(err.Error(), "give 254:0") {
		t.Errorf("partition: %v", err)
	}
	f.drop("cg/io.cost.qos")
	if _, err := f.host.PlanQoS(vda, QoS{}); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "CONFIG_BLK_CGROUP_IOCOST") {
		t.Errorf("no iocost: %v", err)
	}
	f.put("cg/cgroup.type", "domain\n")
	if _, err := f.host.PlanQoS(vda, QoS{}); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "not the root control group") {
		t.Errorf("in a container: %v", err)
	}
}
