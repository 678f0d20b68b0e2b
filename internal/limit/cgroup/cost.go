package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
)

// A QoS is a device's settings of iocost: io.cost.qos of version 2's root. Zero fields are left to the kernel, which
// chooses by the kind of device.
type QoS struct {
	// Enable turns iocost on, so that weights divide the device.
	Enable bool `json:"enable"`
	// RPct is the percentile (0 to 100, two decimals) of reads that must complete within RLat; while they don't, all
	// groups get less. WPct and WLat are the same for writes. Latencies are whole microseconds.
	RPct float64       `json:"rpct,omitempty"`
	RLat time.Duration `json:"rlat,omitempty"`
	WPct float64       `json:"wpct,omitempty"`
	WLat time.Duration `json:"wlat,omitempty"`
	// Min and Max bound how far the device is throttled or driven, in percent of its model's
	// speed: 1 to 10000.
	Min float64 `json:"min,omitempty"`
	Max float64 `json:"max,omitempty"`
}

// A Model is a device's performance: io.cost.model of version 2's root. All fields are needed.
type Model struct {
	RBPS      int64 `json:"rbps"`
	RSeqIOPS  int64 `json:"rseqiops"`
	RRandIOPS int64 `json:"rrandiops"`
	WBPS      int64 `json:"wbps"`
	WSeqIOPS  int64 `json:"wseqiops"`
	WRandIOPS int64 `json:"wrandiops"`
}

const (
	costQoS   = "io.cost.qos"
	costModel = "io.cost.model"
)

// fields are the fields of io.cost.qos that differ from the kernel's own choice.
func (q QoS) fields() [][2]string {
	enable := "0"
	if q.Enable {
		enable = "1"
	}
	out := [][2]string{{"enable", enable}}
	percent := func(name string, v float64) {
		if v != 0 {
			out = append(out, [2]string{name, strconv.FormatFloat(v, 'f', 2, 64)})
		}
	}
	latency := func(name string, v time.Duration) {
		if v != 0 {
			out = append(out, [2]string{name, strconv.FormatInt(int64(v/time.Microsecond), 10)})
		}
	}
	percent("rpct", q.RPct)
	latency("rlat", q.RLat)
	percent("wpct", q.WPct)
	latency("wlat", q.WLat)
	percent("min", q.Min)
	percent("max", q.Max)
	return out
}

func (q QoS) check() error {
	for name, v := range map[string]float64{"rpct": q.RPct, "wpct": q.WPct} {
		if !(v >= 0 && v <= 100) {
			return fmt.Errorf("%s: %v is not a percentile: write 0 to 100", name, v)
		}
	}
	for name, v := range map[string]float64{"min": q.Min, "max": q.Max} {
		if v != 0 && !(v >= 1 && v <= 10000) {
			return fmt.Errorf("%s: %v is out of range: write 1 to 10000 percent", name, v)
		}
	}
	if q.Min != 0 && q.Max != 0 && q.Min > q.Max {
		return fmt.Errorf("min %v is above max %v", q.Min, q.Max)
	}
	for name, v := range map[string]time.Duration{"rlat": q.RLat, "wlat": q.WLat} {
		if v < 0 || v%time.Microsecond != 0 {
			return fmt.Errorf("%s: %v is not a whole number of microseconds", name, v)
		}
	}
	return nil
}

// PlanQoS plans a device's line in io.cost.qos. Only the root of version 2 has that file: in a container, or where
// the kernel has no iocost, the error wraps ErrUnsupported.
func (h *Host) PlanQoS(d device.Number, q QoS) (*Diff, error) {
	if err := q.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", costQoS, err)
	}
	return h.planCost(d, costQoS, q.fields(), "enable=0")
}

// PlanModel plans a device's line in io.cost.model.
func (h *Host) PlanModel(d device.Number, m Model) (*Diff, error) {
	var fields [][2]string
	for _, f := range []struct {
		name string
		v    int64
	}{{"rbps", m.RBPS}, {"rseqiops", m.RSeqIOPS}, {"rrandiops", m.RRandIOPS}, {"wbps", m.WBPS}, {"wseqiops", m.WSeqIOPS}, {"wrandiops", m.WRandIOPS}} {
		if f.v < 1 {
			return nil, fmt.Errorf("%s: %s is %d: a model has to say more than 0 of each", costModel, f.name, f.v)
		}
		fields = append(fields, [2]string{f.name, strconv.FormatInt(f.v, 10)})
	}
	return h.planCost(d, costModel, fields, "ctrl=auto")
}

// planCost plans a device's line in io.cost.qos or io.cost.model. Edits and faults carry the file's name where others
// carry a limit's key. none is the value that removes a device's line.
func (h *Host) planCost(d device.Number, file string, want [][2]string, none string) (*Diff, error) {
	root, now, err := h.cost(file)
	if err != nil {
		return nil, err
	}
	if err := h.checkDevice(d); err != nil {
		return nil, err
	}
	diff := &Diff{host: h, top: []*hierarchy.Group{root}}
	line, exists := now[d]
	var text, was []string
	for _, f := range want {
		if equal(line[f[0]], f[1]) {
			diff.Held++
			continue
		}
		text = append(text, f[0]+"="+f[1])
		if exists {
			was = append(was, f[0]+"="+line[f[0]])
		}
	}
	switch {
	case len(text) == 0:
		return diff, nil
	case !exists:
		was = []string{none}
	case line["ctrl"] == "auto":
		// With any parameter set, the kernel takes them all from the user.
		was = append(was, "ctrl=auto")
	}
	diff.Edits = []Edit{{
		Group: root.Path, File: filepath.Join(root.Dir, file), Keys: []limit.Key{limit.Key(file)}, Device: d, group: root,
		Text: []string{d.String() + " " + strings.Join(text, " ")}, Was: []string{d.String() + " " + strings.Join(was, " ")},
	}}
	return diff, nil
}

// equal compares two values of a field, which the kernel may print with a different number of decimals.
func equal(a, b string) bool {
	x, xerr := strconv.ParseFloat(a, 64)
	y, yerr := strconv.ParseFloat(b, 64)
	return a == b || (xerr == nil && yerr == nil && x == y)
}

// cost reads one of the two files.
func (h *Host) cost(file string) (*hierarchy.Group, map[device.Number]map[string]string, error) {
	root, err := h.tree.Root(hierarchy.IO)
	if err != nil {
		return nil, nil, err
	}
	if root.Version == 1 {
		return nil, nil, unsupported(limit.Key(file), "iocost is version 2's, and blkio is mounted as version 1 here", "let bfq schedule the disk, or boot with systemd.unified_cgroup_hierarchy=1 cgroup_no_v1=all")
	}
	b, err := h.io.read(filepath.Join(root.Dir, file), nil)
	if errors.Is(err, fs.ErrNotExist) {
		why := "this kernel has no iocost (CONFIG_BLK_CGROUP_IOCOST)"
		if h.hasAny(root, []string{"cgroup.type"}) {
			why = "this is not the root control group, and only that one has " + file
		}
		return nil, nil, unsupported(limit.Key(file), why, "let bfq schedule the disk, or run this on the host")
	}
	if err != nil {
		return nil, nil, err
	}
	lines, err := parseCost(b)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Join(root.Dir, file), err)
	}
	return root, lines, nil
}

// parseCost reads lines such as "254:0 enable=1 ctrl=auto rpct=95.00 ...".
func parseCost(b []byte) (map[device.Number]map[string]string, error) {
	out := map[device.Number]map[string]string{}
	for line := range bytes.Lines(b) {
		f := strings.Fields(string(line))
		if len(f) == 0 || strings.HasPrefix(f[0], "(") {
			continue
		}
		d, err := device.ParseNumber(f[0])
		if err != nil {
			return nil, fmt.Errorf("%q begins with no device", line)
		}
		values := map[string]string{}
		for _, kv := range f[1:] {
			if k, v, ok := strings.Cut(kv, "="); ok {
				values[k] = v
			}
		}
		out[d] = values
	}
	return out, nil
}
