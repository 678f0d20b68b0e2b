package cgroup

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
)

// TestOver: in version 2 all groups above hold a process, in version 1 its own alone, beside what the root group has for others. Limits
// on other devices, and those that are none, are left out.
func TestOver(t *testing.T) {
	applied := func(by, group, file string, key limit.Key, value float64, d device.Number, name string) limit.Applied {
		return limit.Applied{Key: key, Value: value, Device: name, Number: d, By: by, Group: group, File: file}
	}
	const wbps, riops = "blkio.throttle.write_bps_device", "blkio.throttle.read_iops_device"
	for _, tt := range []struct {
		name    string
		version int
		files   map[string]string
		group   string
		want    []limit.Applied
	}{
		{"version 2", 2, map[string]string{
			"cg/slice/io.max":         "254:0 rbps=max wbps=5000 riops=max wiops=max\n",
			"cg/slice/pod/io.max":     "8:16 rbps=9000 wbps=max riops=max wiops=70\n253:0 rbps=1000 wbps=max riops=max wiops=max\n",
			"cg/slice/pod/box/io.max": "254:0 rbps=max wbps=max riops=max wiops=max\n",
			"cg/slice/other/io.max":   "254:0 rbps=1 wbps=1 riops=1 wiops=1\n",
		}, "/slice/pod/box", []limit.Applied{
			applied(limit.ByGroup, "/slice/pod", "io.max", limit.ReadBPS, 9000, sdb, "sdb"), applied(limit.ByGroup, "/slice/pod", "io.max", limit.WriteIOPS, 70, sdb, "sdb"),
			applied(limit.ByGroup, "/slice", "io.max", limit.WriteBPS, 5000, vda, "vda"),
		}},
		{"version 1", 1, map[string]string{
			"cg/blkio/" + wbps: "254:0 3000\n", "cg/blkio/slice/" + wbps: "254:0 5000\n", "cg/blkio/slice/box/" + riops: "8:16 70\n253:0 10\n",
		}, "/slice/box", []limit.Applied{
			applied(limit.ByGroup, "/slice/box", riops, limit.ReadIOPS, 70, sdb, "sdb"), applied(limit.ByDevice, "/", wbps, limit.WriteBPS, 3000, vda, "vda"),
		}},
		{"version 1, in the root group", 1, map[string]string{"cg/blkio/" + wbps: "254:0 3000\n"}, "/", []limit.Applied{applied(limit.ByGroup, "/", wbps, limit.WriteBPS, 3000, vda, "vda")}},
		{"none", 2, nil, "/slice/pod", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, tt.version, "/slice/pod/box", "/slice/box", "/slice/other")
			line := fmt.Sprintf("0::%s\n", tt.group)
			if tt.version == 1 {
				line = fmt.Sprintf("3:blkio:%s\n", tt.group)
			}
			f.put("proc/10/cgroup", line)
			for name, text := range tt.files {
				f.put(name, text)
			}
			got, err := f.host.Over(10, []device.Number{vda, sdb})
			if d := cmp.Diff(tt.want, got); d != "" || err != nil {
				t.Errorf("Over, %v (-want +got):\n%s", err, d)
			}
			if got, err := f.host.Over(11, []device.Number{vda}); len(got) > 0 || !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a process that isn't there: %v, %v", got, err)
			}
		})
	}
}
