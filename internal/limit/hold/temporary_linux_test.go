package hold

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/testkit/treetest"
	"plimsoll/internal/text/refusal"
)

// twoClients are requests of two groups on the disk of a machine of files, with one between them that asks for nothing. The rates of the second
// were given by its engine.
func twoClients(t *testing.T, files map[string]string) (k *killed, all []Request) {
	t.Helper()
	dir := t.TempDir()
	both := maps.Clone(files)
	for name, text := range files {
		if rest, ok := strings.CutPrefix(name, "cg/shop/"); ok {
			both["cg/job/"+rest] = text
		}
	}
	if err := os.Symlink(treetest.Make(t, both), filepath.Join(dir, "machine")); err != nil {
		t.Fatal(err)
	}
	k, err := newKilled(dir)
	if err != nil {
		t.Fatal(err)
	}
	job, err := k.Groups.At("/job")
	if err != nil {
		t.Fatal(err)
	}
	l := limit.Limits{Name: "slow", WriteBPS: 1 << 20, DeviceWide: true}
	disk := k.scope.Places[0].Explanation
	disk.Modes = []explain.Mode{{Name: explain.Buffered, Group: explain.Leaks, Device: explain.Covered}}
	return k, []Request{{Scope: ScopeIn(k.scope.GroupSets[0].Groups, "/srv", disk), Limits: l}, {}, {Scope: ScopeIn(job, "/srv", disk), Limits: l, ByEngine: true}}
}

// TestTemporary: each group gets its limits, the device the sum, and after the release nothing is left but what an engine was given.
func TestTemporary(t *testing.T) {
	const file = "blkio.throttle.write_bps_device"
	k, all := twoClients(t, killedFiles)
	h, err := k.Hold(t.Context(), k.state, "a run", all)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{"cg/": "254:0 2097152", "cg/shop/": "254:0 1048576", "cg/job/": "254:0 1048576"} {
		if has := k.has(t, at+file); has != want {
			t.Errorf("%s%s has %q, want %q", at, file, has, want)
		}
	}
	if own := h.Of(0).Of(limit.WriteBPS); own != 1<<20 {
		t.Errorf("the first's own write_bps is %v", own)
	}
	if wide := atDevice(h.Of(0)); wide != 2<<20 {
		t.Errorf("the first's write_bps at the device is %v", wide)
	}
	if none := h.Of(1); none != nil {
		t.Errorf("in force for the second is %+v, want nothing", none)
	}
	if by := h.Of(2).Applied[0].By; by != limit.ByEngine {
		t.Errorf("the third's limit is set by %q, want the engine", by)
	}
	if e := h.Of(0).Escape(explain.Buffered); e == nil || !e.Closed {
		t.Errorf("what escapes is %+v, want it held at the device", e)
	}
	if left := h.Foreign(append(h.Of(0).Applied, limit.Applied{Key: limit.ReadBPS})); len(left) != 1 || left[0].Key != limit.ReadBPS {
		t.Errorf("others' are %v", left)
	}
	var taken *refusal.Error
	if _, err := k.Try(t.Context(), k.state, all[0]); !errors.As(err, &taken) || !strings.Contains(err.Error(), "a run") {
		t.Errorf("Try() of a second run = %v, want a refusal with the first", err)
	}
	if err := h.Release(); err != nil {
		t.Error(err)
	}
	if has := k.has(t, "cg/job/"+file); has != "254:0 1048576" {
		t.Errorf("of what the engine was given is left %q", has)
	}
	k.untouched(t, "its release")
}

// TestTemporaryRefused: if one group refuses its limits, the others have none either.
func TestTemporaryRefused(t *testing.T) {
	k, all := twoClients(t, killedFiles)
	k.Groups = k.Groups.Through(func(path, text string, next func(string, string) error) error {
		if strings.Contains(path, "/job/") {
			return syscall.EIO
		}
		return next(path, text)
	})
	if _, err := k.Hold(t.Context(), k.state, "a run", all); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "limits slow") {
		t.Errorf("Hold() = %v", err)
	}
	k.untouched(t, "the refusal")
	if left := journaltest.Left(t, k.state); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestTemporaryUnified: version 2 has no limits of the root group, and charges buffered writes to the group that wrote.
func TestTemporaryUnified(t *testing.T) {
	k, all := twoClients(t, map[string]string{
		"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:30 / ROOT/cg rw - cgroup2 cgroup2 rw\n",
		"sys/dev/block/254:0": "-> sys/devices/vda", "sys/devices/vda/dev": "254:0\n", "cg/cgroup.controllers": "io\n",
		"cg/shop/io.max": "", "cg/shop/cgroup.controllers": "io\n", "cg/shop/cgroup.procs": "7\n",
	})
	if _, err := k.Try(t.Context(), k.state, all[0]); err != nil {
		t.Errorf("Try() = %v", err)
	}
	h, err := k.Hold(t.Context(), k.state, "a run", all)
	if err != nil {
		t.Fatal(err)
	}
	if h.Of(0).Of(limit.WriteBPS) != 1<<20 || atDevice(h.Of(0)) != 0 || h.Of(0).Escape(explain.Buffered).Closed {
		t.Errorf("in force is %+v", h.Of(0))
	}
	if err := h.Release(); err != nil || k.has(t, "cg/shop/io.max") != "254:0 wbps=max" {
		t.Errorf("Release() = %v, and %q is left", err, k.has(t, "cg/shop/io.max"))
	}
	if left := journaltest.Left(t, k.state); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// atDevice is the limit on writes that all users of the device share, 0 for none.
func atDevice(h *limit.Held) float64 {
	for _, a := range h.Applied {
		if a.Key == limit.WriteBPS && a.By == limit.ByDevice {
			return a.Value
		}
	}
	return 0
}
