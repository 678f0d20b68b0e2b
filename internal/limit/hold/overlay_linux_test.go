package hold

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/text/refusal"
)

// twoDisks is an overlay whose lower folder is on one disk and its upper one on another, "" for one in memory.
func twoDisks(t *testing.T, memory bool) (dir, lower, upper string) {
	t.Helper()
	lower, below := disktest.Disk(t, disktest.Options{})
	var on string
	if memory {
		on = disktest.Tmpfs(t, "")
	} else {
		upper, on = disktest.Disk(t, disktest.Options{})
	}
	up, work := filepath.Join(on, "up"), filepath.Join(on, "work")
	for _, d := range []string{up, work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return disktest.Mount(t, "overlay", "overlay", 0, "lowerdir="+below+",upperdir="+up+",workdir="+work), lower, upper
}

// TestReadsOnly: an overlay's lower disk gets limits of reading alone, also of systemd and of an engine; one that it had of writing
// stays when another is set, and goes when it is cleared.
func TestReadsOnly(t *testing.T) {
	group := disktest.NewBlkioGroup(t)
	dir, lower, upper := twoDisks(t, false)
	h := holder(t)
	s, err := h.Scope(t.Context(), ref(t, group), Where{Path: dir}, true)
	if err != nil {
		t.Fatal(err)
	}
	has := func(when string, want map[string][]string) {
		t.Helper()
		now := map[string][]string{}
		for f, text := range rateFiles(t, string(group)) {
			lines := strings.Split(text, "\n")
			slices.Sort(lines)
			now[strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "blkio.throttle."), "_device")] = lines
		}
		for _, lines := range want {
			slices.Sort(lines)
		}
		if !maps.EqualFunc(now, want, slices.Equal) {
			t.Errorf("%s: the kernel has %v, want %v", when, now, want)
		}
	}
	down, up := disktest.Number(t, lower), disktest.Number(t, upper)
	set := limit.Limits{ReadBPS: 1 << 20, WriteBPS: 2 << 20, ReadIOPS: 100, WriteIOPS: 200}
	if _, err := h.Apply(t.Context(), s, limit.Change{Set: set}); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{"read_bps": {down + " 1048576", up + " 1048576"}, "write_bps": {up + " 2097152"}, "read_iops": {down + " 100", up + " 100"}, "write_iops": {up + " 200"}}
	has("set", all)
	if err := group.Put("blkio.throttle.write_bps_device", down+" 3000000"); err != nil {
		t.Fatal(err)
	}
	if done, err := h.Apply(t.Context(), s, limit.Change{Set: set}); err != nil || done[0].Writes != 0 {
		t.Errorf("Apply() again = %+v, %v", done, err)
	}
	all["write_bps"] = append(all["write_bps"], down+" 3000000")
	has("set again", all)
	if _, err := h.Apply(t.Context(), s, limit.Clear()); err != nil {
		t.Fatal(err)
	}
	has("cleared", map[string][]string{})

	for _, d := range h.unitChange(s, s.GroupSets[0], limit.Change{Set: set}).Set.Devices {
		if d.ReadBPS != 1<<20 || (d.WriteBPS == 0) != (d.Path == lower) || (d.WriteIOPS == 0) != (d.Path == lower) {
			t.Errorf("systemd is told %+v", d)
		}
	}
	if devices := s.forAPI(set).Devices; len(devices) != 2 {
		t.Errorf("an engine is told %+v", devices)
	}
	if devices := s.forAPI(limit.Limits{WriteBPS: 5}).Devices; len(devices) != 1 || devices[0].Path != upper || devices[0].WriteBPS != 5 {
		t.Errorf("an engine is told %+v of writing", devices)
	}

	// What is written to one of two mounts is written.
	both, err := h.Scope(t.Context(), ref(t, group), Where{Device: lower}, true)
	if err != nil {
		t.Fatal(err)
	}
	both.Places = append(slices.Clone(s.Places), both.Places...)
	if devices := both.Devices(); len(devices) != 2 || devices[0].ReadsOnly || devices[1].ReadsOnly {
		t.Errorf("devices %+v, want both to be written to", devices)
	}
}

// TestNothingWritten: what is written to memory is not limited by a limit on the disk beneath, and that is refused; where nothing
// can be written, there is nothing to refuse.
func TestNothingWritten(t *testing.T) {
	group := disktest.NewBlkioGroup(t)
	dir, _, _ := twoDisks(t, true)
	h := holder(t)
	s, err := h.Scope(t.Context(), ref(t, group), Where{Path: dir}, true)
	if err != nil {
		t.Fatal(err)
	}
	var impossible *refusal.Error
	if _, err := h.Apply(t.Context(), s, limit.Change{Set: limit.Limits{ReadBPS: 1 << 20, WriteBPS: 1 << 20}}); !errors.As(err, &impossible) || !strings.Contains(err.Error(), "overlay on tmpfs is memory") || impossible.Fix == "" {
		t.Errorf("Apply() of writes to memory = %v", err)
	}
	if _, err := h.Apply(t.Context(), s, limit.Change{Set: limit.Limits{ReadBPS: 1 << 20}}); err != nil {
		t.Errorf("Apply() of reads = %v", err)
	}
	if now := rateFiles(t, string(group)); len(now) != 1 {
		t.Errorf("the kernel has %v", now)
	}
	if _, err := h.Apply(t.Context(), s, limit.Clear()); err != nil {
		t.Error(err)
	}
	_, below := disktest.Disk(t, disktest.Options{})
	ro := disktest.Mount(t, "overlay", "overlay", 0, "lowerdir="+below+":"+t.TempDir())
	if s, err = h.Scope(t.Context(), ref(t, group), Where{Path: ro}, true); err != nil {
		t.Fatal(err)
	}
	if done, err := h.Apply(t.Context(), s, limit.Change{Set: limit.Limits{WriteBPS: 1 << 20}}); err != nil || done[0].Writes != 0 {
		t.Errorf("Apply() where nothing can be written = %+v, %v", done, err)
	}
}
