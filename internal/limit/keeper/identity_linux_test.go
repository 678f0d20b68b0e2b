package keeper

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/testkit/disktest"
)

// A shelf is a sysfs of the test's own, in which disks come and go.
type shelf struct {
	t   *testing.T
	dir string
}

// newShelf is a bench whose disks are on a shelf. The limits are the kernel's.
func newShelf(t *testing.T, policy string) (*bench, shelf) {
	t.Helper()
	s := shelf{t, filepath.Join(t.TempDir(), "sys")}
	h := holderFor(t)
	h.FS = device.FS{Proc: "/proc", Sys: s.dir}
	groups, err := cgroup.Open(h.FS)
	if err != nil {
		t.Fatal(err)
	}
	h.Groups = groups
	b := newBench(t, Options{Holder: h}, policy)
	s.plug(b.number, "first")
	return b, s
}

// plug gives a number to a disk.
func (s shelf) plug(number, wwid string) {
	s.t.Helper()
	dir := filepath.Join(s.dir, "dev", "block", number)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	for file, text := range map[string]string{"dev": number, "wwid": wwid} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text+"\n"), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
}

// unplug takes the disk with a number away.
func (s shelf) unplug(number string) {
	s.t.Helper()
	if err := os.RemoveAll(filepath.Join(s.dir, "dev", "block", number)); err != nil {
		s.t.Fatal(err)
	}
}

// TestUnplugged: what a container had on a disk before that has gone isn't restored, and the rest of its policy comes.
func TestUnplugged(t *testing.T) {
	b, disks := newShelf(t, "rules: []\n")
	other := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	second := disktest.Number(t, other)
	disks.plug(second, "second")
	// An engine may have set it: docker run --device-write-bps.
	if err := b.group.Put("blkio.throttle.write_bps_device", b.number+" 5000000"); err != nil {
		t.Fatal(err)
	}
	both := "rules:\n- {name: one, match: all, where: {device: DISK}, limits: {write_bps: 1MiB}}\n- {name: two, match: all, where: {device: " + other + "}, limits: {write_bps: 2MiB}}\n"
	b.load(both)
	b.k.Started(targetOf(b.group))
	b.has("1048576")
	eventually(t, "the second is held", func() bool { return rate(base(b.group), second) == "2097152" })
	disks.unplug(b.number)
	number, _ := device.ParseNumber(b.number)
	b.k.disks(map[device.Number]bool{number: true})
	b.load(strings.ReplaceAll(both[:len("rules:\n")]+both[strings.Index(both, "- {name: two"):], "2MiB", "3MiB"))
	eventually(t, "the second's new limit comes", func() bool { return rate(base(b.group), second) == "3145728" })
	eventually(t, "nothing is noted of the first", func() bool {
		c := b.k.Status().Containers
		return len(c) == 1 && len(c[0].Held) == 1 && len(c[0].Faults) == 0 && c[0].Held[0].Device.String() == second
	})
	if b.said("remove limits") {
		t.Error("a limit on a disk that has gone was to be removed")
	}
}

// TestReplaced: what was there before on a disk is not restored on the next one with its number, and what that has itself is.
func TestReplaced(t *testing.T) {
	b, disks := newShelf(t, "rules: []\n")
	put := func(value string) {
		t.Helper()
		if err := b.group.Put("blkio.throttle.write_bps_device", b.number+" "+value); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(by string) {
		t.Helper()
		disks.unplug(b.number)
		disks.plug(b.number, by)
		b.k.disk.Forget()
	}
	holds := func(was string) {
		t.Helper()
		eventually(t, "it is held, and was "+was, func() bool {
			c := b.k.Status().Containers
			return len(c) == 1 && len(c[0].Held) == 1 && c[0].Held[0].Was == was && rate(base(b.group), b.number) == "1048576"
		})
	}
	put("5000000")
	b.k.Started(targetOf(b.group))
	b.load(oneRule)
	holds("5000000")
	// A loop device keeps its limits whatever file it gets, so that the next disk has the keeper's own.
	replace("second")
	b.load("rules: []\n")
	b.has("")
	// The same disk gets back what it had, over a restart as well.
	put("5000000")
	b.load(oneRule)
	holds("5000000")
	b.stop()
	b.begin()
	b.k.Started(targetOf(b.group))
	holds("5000000")
	b.load("rules: []\n")
	b.has("5000000")
	// Over a restart another one doesn't.
	b.load(oneRule)
	holds("5000000")
	b.stop()
	replace("third")
	b.begin()
	b.k.Started(targetOf(b.group))
	holds("none")
	// A limit that another program sets on the next disk is no drift of the previous disk, and is restored later.
	replace("fourth")
	put("777")
	holds("777")
	if n := b.k.Status().Drift; n != 0 {
		t.Errorf("%d corrections of a disk that is another one", n)
	}
	b.load("rules: []\n")
	b.has("777")
}
