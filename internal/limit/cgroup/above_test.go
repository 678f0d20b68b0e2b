package cgroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
)

// TestAbove: in version 2 all groups above hold a target to their rates, CPUs and memory, in version 1 to CPUs and memory alone. Weights
// and the groups' other children are left out.
func TestAbove(t *testing.T) {
	for _, tt := range []struct {
		name    string
		version int
		files   map[string]string
		want    []State
	}{
		{"version 2", 2, map[string]string{
			"cg/slice/io.max":         "254:0 rbps=max wbps=5000 riops=max wiops=max\n",
			"cg/slice/pod/memory.max": "1048576\n",
			"cg/slice/pod/cpu.max":    "50000 100000\n",
			"cg/slice/pod/cpu.weight": "10\n",
			"cg/slice/pod/box/io.max": "254:0 rbps=1000 wbps=max riops=max wiops=max\n",
			"cg/slice/other/io.max":   "254:0 rbps=1 wbps=1 riops=1 wiops=1\n",
		}, []State{
			{Group: "/slice/pod", Version: 2, Limits: limit.Limits{CPUs: 0.5, Memory: 1 << 20, Swap: "max"}, Devices: map[device.Number]limit.Limits{}},
			{Group: "/slice", Version: 2, Devices: map[device.Number]limit.Limits{vda: {WriteBPS: 5000}}},
		}},
		{"version 1", 1, map[string]string{
			"cg/blkio/slice/blkio.throttle.write_bps_device": "254:0 5000\n",
			"cg/memory/slice/memory.limit_in_bytes":          "1048576\n",
		}, []State{{Group: "/slice", Version: 1, Limits: limit.Limits{Memory: 1 << 20, Swap: "max"}, Devices: map[device.Number]limit.Limits{}}}},
		{"none", 2, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, tt.version, "/slice", "/slice/pod", "/slice/pod/box", "/slice/other")
			for name, text := range tt.files {
				f.put(name, text)
			}
			box, err := f.host.At("/slice/pod/box")
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.host.Above(box)
			if d := cmp.Diff(tt.want, got); d != "" || err != nil {
				t.Errorf("Above, %v (-want +got):\n%s", err, d)
			}
		})
	}
}
