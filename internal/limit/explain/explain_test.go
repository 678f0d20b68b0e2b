package explain

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/weight"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/treetest"
)

// Groups of a machine, as files.
const (
	v1 = `100 1 0:30 / ROOT/cg/blkio rw - cgroup cgroup rw,blkio
101 1 0:31 / ROOT/cg/memory rw - cgroup cgroup rw,memory
`
	v2 = `100 1 0:30 / ROOT/cg/blkio rw - cgroup2 cgroup2 rw
`
	// hybrid has I/O in version 2 and memory in version 1.
	hybrid = `100 1 0:30 / ROOT/cg/blkio rw - cgroup2 cgroup2 rw
101 1 0:31 / ROOT/cg/memory rw - cgroup cgroup rw,memory
`
)

// moreMounts are further file systems of the machine of disktest.StackFiles.
const moreMounts = `50 1 8:48 / /fixture/journal rw - ext4 /dev/sdd rw,data=journal
51 1 0:70 / /fixture/zstd rw - btrfs /dev/sdb rw,compress=zstd:3
52 1 8:64 / /fixture/dax rw - xfs /dev/sde rw,dax=always
53 1 8:64 / /fixture/ntfs rw - fuseblk /dev/sde rw,user_id=0
54 1 8:64 / /fixture/vfat rw - vfat /dev/sde rw
55 1 8:64 / /fixture/ro ro - ext4 /dev/sde ro
56 1 0:71 / /fixture/ceph rw - ceph mon:/ rw
57 1 0:72 / /fixture/cifs rw - cifs //filer/data rw
58 1 0:73 / /fixture/virtiofs rw - virtiofs tag rw
59 1 259:2 / /fixture/home rw - ext4 /dev/nvme0n1p2 rw
60 1 0:74 / /fixture/onnfs rw - overlay overlay rw,lowerdir=/l,upperdir=/fixture/nfs/up,workdir=/w
61 1 0:75 / /fixture/memupper rw - overlay overlay rw,lowerdir=/fixture/md,upperdir=/fixture/shm/up,workdir=/w
`

// machine is the machine of disktest.StackFiles, with groups and more files.
func machine(t *testing.T, groups string, more map[string]string) *Host {
	t.Helper()
	files := disktest.StackFiles()
	maps.Copy(files, map[string]string{
		"cg/blkio/blkio.throttle.write_bps_device": "",
		"cg/blkio/cgroup.controllers":              "io memory\n",
		"cg/blkio/box/io.max":                      "",
		"proc/self/mountinfo":                      disktest.StackMounts + moreMounts + groups,
		"proc/sys/kernel/osrelease":                "6.12.1-test\n",
	})
	maps.Copy(files, more)
	root := treetest.Make(t, files)
	h, err := Look(device.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func explained(t *testing.T, h *Host, path string) *Explanation {
	t.Helper()
	e, err := h.Path(path)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// short writes the verdicts of the modes in their order: "held leaks/held".
func short(modes []Mode) string {
	var words []string
	for _, m := range modes {
		w := string(m.Group)
		if m.Device != "" {
			w += "/" + string(m.Device)
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// TestModes: read, direct, dsync, buffered+fsync and buffered, by versions and file systems.
func TestModes(t *testing.T) {
	const submitter = "held held held held leaks"
	hosts := map[string]*Host{v1: machine(t, v1, nil), v2: machine(t, v2, nil), hybrid: machine(t, hybrid, nil)}
	var sheet golden.Sheet
	for _, tt := range []struct {
		path, v1, v2, hybrid string
	}{
		{"/fixture/lv", submitter + "/held", "held held held held late", submitter},
		{"/fixture/heads", submitter + "/held", "held held held held late", submitter},
		{"/fixture/b2", "held held held partly/held leaks/held", "held held held held late", "held held held partly leaks"},
		{"/fixture/merged", submitter + "/held", "held held held held late", submitter},
		{"/fixture/zstd", "held held leaks/held leaks/held leaks/held", "held held held held late", "held held leaks leaks leaks"},
		{"/fixture/journal", "held partly/held partly/held partly/held partly/held", "held partly partly partly partly", "held partly partly partly partly"},
		{"/fixture/vfat", submitter + "/held", submitter, submitter},
		{"/fixture/ro", "held never never never never", "held never never never never", "held never never never never"},
		{"/fixture/readonly", "held never never never never", "held never never never never", "held never never never never"},
		{"/fixture/ntfs", "leaks leaks leaks leaks leaks", "leaks leaks leaks leaks leaks", "leaks leaks leaks leaks leaks"},
		{"/fixture/dax", "leaks leaks leaks leaks leaks", "leaks leaks leaks leaks leaks", "leaks leaks leaks leaks leaks"},
	} {
		for _, g := range []struct{ name, groups, want string }{{"v1", v1, tt.v1}, {"v2", v2, tt.v2}, {"hybrid", hybrid, tt.hybrid}} {
			e := explained(t, hosts[g.groups], tt.path)
			if got := short(e.Modes); got != g.want {
				t.Errorf("%s, %s: %s, want %s", tt.path, g.name, got, g.want)
			}
			var why []string
			for _, m := range e.Modes {
				why = append(why, fmt.Sprintf("%s: %s %s", m.Name, m.Group, m.Why))
			}
			sheet.Add(tt.path+", "+g.name, strings.Join(why, "\n"))
		}
	}
	sheet.Check(t, "modes.txt")
	// A kernel where direct writes of a btrfs with checksums go through the page cache.
	later := machine(t, hybrid, map[string]string{"proc/sys/kernel/osrelease": "6.14.0-test\n"})
	if got := short(explained(t, later, "/fixture/zstd").Modes); got != "held leaks leaks leaks leaks" {
		t.Errorf("compressed, Linux 6.14: %s", got)
	}
	// A kernel that charges buffered writes in version 1.
	h := machine(t, v1, map[string]string{"proc/cmdline": "ro cgwb_v1 quiet\n"})
	if got := short(explained(t, h, "/fixture/lv").Modes); got != "held held held held late" || h.Buffered().Status != OK {
		t.Errorf("with cgwb_v1: %s, %+v", got, h.Buffered())
	}
}

// TestHard: where limits go.
func TestHard(t *testing.T) {
	h := machine(t, v1, nil)
	for path, want := range map[string]string{
		"/fixture/none":  "nvme0n1 259:0 (nvme0n1p1 is a partition: the kernel takes limits on whole disks only)",
		"/fixture/lv":    "dm-1 253:1",
		"/fixture/mpath": "dm-7 253:7",
		"/fixture/heads": "nvme1n1 259:7 (nvme1n1p1 is a partition: the kernel takes limits on whole disks only)",
		"/fixture/md":    "md0 9:0",
		"/fixture/crypt": "dm-0 253:0",
		// The upper folder's device for what is written, the lower ones' for what was never written.
		"/fixture/mixed":    "dm-5 253:5, reads of dm-1 253:1, reads of md0 9:0",
		"/fixture/readonly": "reads of dm-1 253:1, reads of md0 9:0",
		"/fixture/b2":       "sdb 8:16 (one of the devices that the btrfs spreads its data over), sdc 8:32 (one of the devices that the btrfs spreads its data over)",
		"/fixture/shm":      "",
		"/fixture/ntfs":     "",
	} {
		e := explained(t, h, path)
		var words []string
		for _, s := range e.Hard {
			w := s.Name + " " + s.Number.String()
			if s.ReadsOnly {
				w = "reads of " + w
			}
			if s.Why != "" {
				w += " (" + s.Why + ")"
			}
			words = append(words, w)
		}
		if got := strings.Join(words, ", "); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
		if e.Possible == (len(e.Hard) == 0) || e.Possible == (e.Why != "") || e.Possible == (e.Instead != "") {
			t.Errorf("%s: possible %v with %d devices, why %q, instead %q", path, e.Possible, len(e.Hard), e.Why, e.Instead)
		}
	}
}

// TestImpossible: why not, and what to do instead.
func TestImpossible(t *testing.T) {
	h := machine(t, v2, nil)
	var sheet golden.Sheet
	for _, path := range []string{
		"/fixture/shm",
		"/fixture/nfs",
		"/fixture/cifs",
		"/fixture/ceph",
		"/fixture/nine",
		"/fixture/virtiofs",
		"/fixture/with space",
		"/fixture/ntfs",
		"/fixture/zfs",
		"/fixture/dax",
		"/fixture/rel",
		"/fixture/b3",
		"/fixture/gone",
	} {
		e := explained(t, h, path)
		if e.Possible {
			t.Errorf("%s: possible", path)
		}
		sheet.Add(path, e.Why+"\ninstead: "+e.Instead)
	}
	sheet.Check(t, "impossible.txt")
	// Without a controller, or a kernel that throttles, nothing is possible anywhere.
	for name, h := range map[string]*Host{
		"no controller": machine(t, "", nil),
		"no throttling": machine(t, strings.ReplaceAll(v1, "cg/blkio", "cg/other"), map[string]string{"cg/other/x": ""}),
	} {
		e := explained(t, h, "/fixture/lv")
		if e.Possible || len(e.Modes) > 0 {
			t.Errorf("%s: possible %v, modes %+v", name, e.Possible, e.Modes)
		}
		if e.Why == "" || e.Instead == "" {
			t.Errorf("%s: why %q, instead %q", name, e.Why, e.Instead)
		}
		if rates := h.Rates(); rates.Status != Not {
			t.Errorf("%s: rates %+v", name, rates)
		}
	}
}

// TestUpperWithoutDevice: an overlay that writes where nothing can be limited is limited in what it reads
// from its lower folders.
func TestUpperWithoutDevice(t *testing.T) {
	h := machine(t, v1, nil)
	var sheet golden.Sheet
	for _, path := range []string{
		"/fixture/memupper",
		"/fixture/merged2",
		"/fixture/onnfs",
	} {
		e := explained(t, h, path)
		if !e.Possible || len(e.Hard) != 1 || !e.Hard[0].ReadsOnly {
			t.Errorf("%s: %+v, want a limit on reads", path, e)
			continue
		}
		if got := short(e.Modes); got != "partly leaks leaks leaks leaks" {
			t.Errorf("%s: %s: %+v, want reads that are held in part and writes that aren't", path, got, e.Modes)
		}
		sheet.Add(path, e.Modes[1].Why+"\n"+strings.Join(e.Notes, "\n"))
	}
	sheet.Check(t, "upper.txt")
}

// charges lists the layers of a tree with what is still charged there.
func charges(l *Layer) string {
	var words []string
	var visit func(*Layer)
	visit = func(l *Layer) {
		if l.Device != nil {
			w := fmt.Sprintf("%s %s", l.Name, l.Charge)
			if l.Limit {
				w = "*" + w
			}
			words = append(words, w)
		}
		for _, b := range l.Below {
			visit(b)
		}
	}
	visit(l)
	return strings.Join(words, ", ")
}

func TestCharges(t *testing.T) {
	targets := func(list ...device.Target) func(device.Number) ([]device.Target, error) {
		return func(device.Number) ([]device.Target, error) { return list, nil }
	}
	hosts := map[string]*Host{
		v1: machine(t, v1, nil), v2: machine(t, v2, nil),
		v2 + "5.10": machine(t, v2, map[string]string{"proc/sys/kernel/osrelease": "5.10.0-8-amd64\n"}),
	}
	for _, tt := range []struct {
		path, groups, release string
		targets               func(device.Number) ([]device.Target, error)
		want                  string
	}{
		{"/fixture/none", v1, "", nil, "nvme0n1p1 held, *nvme0n1 held"},
		{"/fixture/mpath", v1, "", nil, "*dm-7 held, dm-6 held, sdf held, sdg held"},
		{"/fixture/heads", v1, "", nil, "nvme1n1p1 held, *nvme1n1 held, nvme1c1n1 held, nvme1c2n1 held"},
		{"/fixture/md", v1, "", nil, "*md0 held, sdd leaks, sde leaks, sdf leaks"},
		{"/fixture/bcache", v1, "", nil, "*bcache0 held, sdf partly, sdg partly"},
		{"/fixture/crypt", v1, "", nil, "*dm-0 held, nvme0n1p2 partly, nvme0n1 partly"},
		{"/fixture/lv", v1, "", nil, "*dm-1 held, sdd partly, sde partly"}, // Only root is told.
		{"/fixture/lv", v1, "", targets(device.Target{Type: "linear"}), "*dm-1 held, sdd held, sde held"},
		{"/fixture/lv", v1, "", targets(device.Target{Type: "linear"}, device.Target{Type: "mirror"}), "*dm-1 held, sdd leaks, sde leaks"},
		{"/fixture/lv", v1, "", targets(device.Target{Type: "raid", Level: "raid6_zr"}), "*dm-1 held, sdd leaks, sde leaks"},
		{"/fixture/lv", v1, "", targets(device.Target{Type: "raid", Level: "raid10"}), "*dm-1 held, sdd held, sde held"},
		{"/fixture/merged", v1, "", targets(device.Target{Type: "linear"}), "*loop3 held, dm-0 leaks, nvme0n1p2 leaks, nvme0n1 leaks, nvme0n1p1 held, *nvme0n1 held"},
		{"/fixture/merged", v2, "", targets(device.Target{Type: "linear"}), "*loop3 held, dm-0 late, nvme0n1p2 late, nvme0n1 late, nvme0n1p1 held, *nvme0n1 held"},
		{"/fixture/merged", v2, "5.10", targets(device.Target{Type: "linear"}), "*loop3 held, dm-0 leaks, nvme0n1p2 leaks, nvme0n1 leaks, nvme0n1p1 held, *nvme0n1 held"},
	} {
		h := hosts[tt.groups+tt.release]
		h.fs.Targets = tt.targets
		e := explained(t, h, tt.path)
		if diff := cmp.Diff(tt.want, charges(e.Tree)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.path, diff)
		}
		var visit func(*Layer)
		visit = func(l *Layer) {
			if (l.Charge == Covered) != (l.Lost == "") {
				t.Errorf("%s: %s is %s because %q", tt.path, l.Name, l.Charge, l.Lost)
			}
			for _, b := range l.Below {
				visit(b)
			}
		}
		visit(e.Tree)
	}
}

func TestWeightsOfAPath(t *testing.T) {
	bfq := map[string]string{"cg/blkio/blkio.bfq.weight": ""}
	for _, d := range []string{"sdd", "sde", "sdf", "sdg", "nvme0n1", "sdb", "sdc"} {
		bfq["sys/block/"+d+"/queue/scheduler"] = "none [bfq]\n"
	}
	h := machine(t, v1, bfq)
	var sheet golden.Sheet
	for _, tt := range []struct{ path, want string }{
		{"/fixture/lv", "sdd by bfq works, sde by bfq works"},
		{"/fixture/md", "sdd by bfq, sde by bfq, sdf by bfq"},
		{"/fixture/heads", "nvme1c1n1, nvme1c2n1"},
		{"/fixture/zvol", "zd0"},
		{"/fixture/b2", "sdb, sdc"},
		{"/fixture/thin", "sdd by bfq works, sde by bfq works"},
	} {
		e := explained(t, h, tt.path)
		var words, why []string
		for _, w := range e.Weights {
			s := w.Name
			if w.By != "" {
				s += " by " + w.By
			}
			if w.Works() {
				s += " works"
			}
			words, why = append(words, s), append(why, w.Why)
		}
		if got := strings.Join(words, ", "); got != tt.want {
			t.Errorf("%s: %s (%q), want %s", tt.path, got, why, tt.want)
		}
		sheet.Add(tt.path, strings.Join(why, "\n"))
	}
	sheet.Check(t, "weights.txt")
	// A bfq that isn't chosen is ready; iocost counts for its disk alone.
	h = machine(t, v2, map[string]string{"sys/block/sdd/queue/scheduler": "[none] bfq\n", "cg/blkio/io.cost.qos": "8:64 enable=1 ctrl=auto\n8:480 enable=1\n"})
	w := explained(t, h, "/fixture/lv").Weights
	if len(w) != 2 {
		t.Fatalf("%+v, want sdd and sde", w)
	}
	want := w[0]
	want.By, want.Ready, want.Fix = "", true, "echo bfq > /sys/block/sdd/queue/scheduler"
	if d := cmp.Diff(want, w[0]); d != "" {
		t.Errorf("sdd, for which bfq could be chosen (-want +got):\n%s", d)
	}
	if by := w[1].By; by != weight.ByIOCost {
		t.Errorf("sde is divided by %q, want iocost", by)
	}
}

func TestNotes(t *testing.T) {
	hosts := map[string]*Host{v1: machine(t, v1, nil), v2: machine(t, v2, nil), hybrid: machine(t, hybrid, nil)}
	var sheet golden.Sheet
	for _, tt := range []struct{ path, version string }{
		{"/fixture/md", v1},
		{"/fixture/none", v1}, // Another partition of the disk is mounted, and the root.
		{"/fixture/lv", v2},
		{"/fixture/lv", hybrid},
		{"/fixture/vfat", v2},
		{"/fixture/b2", v2},
	} {
		sheet.Add(tt.path, strings.Join(explained(t, hosts[tt.version], tt.path).Notes, "\n"))
	}
	sheet.Check(t, "notes.txt")
}

func TestSpread(t *testing.T) {
	var sheet golden.Sheet
	for _, tt := range []struct {
		profile string
		n       int
	}{{"single", 3}, {"raid0", 2}, {"raid1", 2}, {"raid1", 3}, {"raid1c3", 3}, {"raid5", 3}, {"raid1+single", 2}, {"", 2}} {
		sheet.Add(fmt.Sprintf("%d devices, %s", tt.n, tt.profile), spread(tt.profile, tt.n))
	}
	sheet.Check(t, "spread.txt")
}
