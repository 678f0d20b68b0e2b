package explain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
)

func TestSharing(t *testing.T) {
	h := machine(t, v1, nil)
	h.fs.Targets = func(device.Number) ([]device.Target, error) { return []device.Target{{Type: "linear"}}, nil }
	for _, tt := range []struct {
		name  string
		paths []string
		want  []string
	}{
		{"one path", []string{"/fixture/lv"}, nil},
		{"nothing in common", []string{"/fixture/b2", "/fixture/bcache"}, nil},
		{"two partitions", []string{"/fixture/none", "/fixture/home"}, []string{"nvme0n1 one limit: /fixture/none /fixture/home"}},
		{"one file system", []string{"/fixture/lv", "/fixture/lv/sub"}, []string{"dm-1 one limit: /fixture/lv /fixture/lv/sub"}},
		{"one disk beneath", []string{"/fixture/crypt/inner", "/fixture/home"}, []string{"nvme0n1 beneath: /fixture/crypt/inner /fixture/home"}},
		{"two disks beneath", []string{"/fixture/lv", "/fixture/md"}, []string{"sdd sde beneath: /fixture/lv /fixture/md"}},
		{"an NVMe namespace with several paths beneath", []string{"/fixture/lv8", "/fixture/lv9"}, []string{"nvme1n1 beneath: /fixture/lv8 /fixture/lv9"}},
		{"memory", []string{"/fixture/shm", "/fixture/shm"}, nil},
		// What a container only reads doesn't make it share the limit of what is written there.
		{"a lower folder", []string{"/fixture/mixed", "/fixture/journal"}, []string{"sdd beneath: /fixture/mixed /fixture/journal"}},
	} {
		var list []*Explanation
		for _, p := range tt.paths {
			list = append(list, explained(t, h, p))
		}
		var got []string
		for _, s := range Sharing(list) {
			kind := " beneath: "
			if s.OneLimit {
				kind = " one limit: "
			}
			names := ""
			for _, d := range s.Disks {
				names += " " + d.Name
			}
			got = append(got, names[1:]+kind+strings.Join(s.Paths, " "))
			if s.What == "" || s.OneLimit != (s.Instead != "") {
				t.Errorf("%s: %+v", tt.name, s)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
