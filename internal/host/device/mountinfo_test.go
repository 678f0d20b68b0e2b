package device

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMounts(t *testing.T) {
	for _, bad := range []string{
		"x",
		"1 0 8:1 / / rw ext4 /dev/a rw",
		"1 0 8:1 / - ext4 /dev/a rw",
		"1 0 8:1 / / rw - ext4 /dev/a",
		"a 0 8:1 / / rw - ext4 /dev/a rw",
		"1 b 8:1 / / rw - ext4 /dev/a rw",
		"1 0 8 / / rw - ext4 /dev/a rw",
		"1 0 8:-1 / / rw - ext4 /dev/a rw",
		"1 0 99999999999:1 / / rw - ext4 /dev/a rw",
		strings.Repeat("x", 2<<20),
	} {
		if m, err := parseMounts(strings.NewReader(bad)); err == nil {
			t.Errorf("parseMounts(%.40q) = %v, want an error", bad, m)
		}
	}
	got, err := parseMounts(strings.NewReader(`36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue

5 1 0:40 / /m rw - overlay  rw,lowerdir=/l\0541:/l\134:2::/data,upperdir=/a\040b\054c,workdir=/w
6 1 0:41 / /n rw - overlay overlay rw,lowerdir+=/l1,lowerdir+=/l2,datadir+=/d
`))
	want := []Mount{
		{ID: 36, Parent: 35, Number: Number{Major: 98}, Root: "/mnt1", Point: "/mnt 2", FSType: "ext3", Source: "/dev/root", Options: "rw,noatime,rw,errors=continue"},
		{ID: 5, Parent: 1, Number: Number{Minor: 40}, Root: "/", Point: "/m", FSType: "overlay", Upper: "/a b,c", Lower: []string{"/l,1", "/l:2", "/data"}, Options: `rw,rw,lowerdir=/l\0541:/l\134:2::/data,upperdir=/a\040b\054c,workdir=/w`},
		{ID: 6, Parent: 1, Number: Number{Minor: 41}, Root: "/", Point: "/n", FSType: "overlay", Source: "overlay", Lower: []string{"/l1", "/l2"}, Options: "rw,rw,lowerdir+=/l1,lowerdir+=/l2,datadir+=/d"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("parseMounts: %v (-want +got):\n%s", err, diff)
	}
}

func TestMountHas(t *testing.T) {
	m := Mount{Options: "ro,relatime,data=journal"}
	for option, want := range map[string]bool{"ro": true, "data=journal": true, "data": false, "r": false, "": false} {
		if got := m.Has(option); got != want {
			t.Errorf("Has(%q) = %v, want %v", option, got, want)
		}
	}
}

func TestFindHonoursTheTree(t *testing.T) {
	mounts, err := parseMounts(strings.NewReader(`1 0 8:1 / / rw - ext4 root rw
2 1 8:2 / /a/b rw - ext4 hidden rw
3 1 8:3 / /a rw - ext4 over rw
4 1 8:4 / /c rw - ext4 first rw
5 4 8:5 / /c rw - ext4 stacked rw
6 5 8:6 / /c/d rw - ext4 below rw
`))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/":       "root",
		"/ab":     "root",
		"/a":      "over",
		"/a/b/c":  "over",
		"/c":      "stacked",
		"/c/x":    "stacked",
		"/c/d/e/": "below",
		"/c/dd":   "stacked",
	} {
		if m := find(mounts, path); m == nil || m.Source != want {
			t.Errorf("find(%q) = %+v, want %s", path, m, want)
		}
	}
	if m := find([]Mount{{ID: 1, Parent: 1, Point: "/"}, {ID: 2, Parent: 2, Point: "/x"}}, "/x/y"); m == nil || m.ID != 1 {
		t.Errorf("find with mounts that are their own parents = %+v, want the root", m)
	}
}
