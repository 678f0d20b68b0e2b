package witness

import (
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/workload"
)

func TestGroupBytes(t *testing.T) {
	dev := &device.Device{Number: device.Number{Major: 254, Minor: 16}}
	group := func(ds ...workload.CgroupDelta) workload.Result {
		return workload.Result{Cgroup: append([]workload.CgroupDelta{}, ds...)}
	}
	on := workload.CgroupDelta{Number: device.Number{Major: 254, Minor: 16}, ReadBytes: 5, WrittenBytes: 7}
	other := workload.CgroupDelta{Number: device.Number{Major: 254, Minor: 0}, ReadBytes: 100, WrittenBytes: 100}
	for _, row := range []struct {
		name          string
		result        workload.Result
		dev           *device.Device
		read, written int64
	}{
		{"no device", group(on), nil, -1, -1},
		{"can't see its group", workload.Result{}, dev, -1, -1},
		{"nothing done", group(), dev, 0, 0},
		{"another device", group(other), dev, 0, 0},
		{"its own", group(other, on), dev, 5, 7},
	} {
		if r, w := groupBytes(&row.result, row.dev); r != row.read || w != row.written {
			t.Errorf("%s: groupBytes = %d, %d, want %d, %d", row.name, r, w, row.read, row.written)
		}
	}
}

func TestContained(t *testing.T) {
	for _, row := range []struct {
		info engine.Info
		want bool
	}{{engine.Info{PID: 1}, false}, {engine.Info{Runtime: "runc 1.1.5"}, true}, {engine.Info{Container: "3f9a"}, true}} {
		if got := contained(row.info); got != row.want {
			t.Errorf("contained(%+v) = %v, want %v", row.info, got, row.want)
		}
	}
}
