package hold

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/testkit/killtest"
	"plimsoll/internal/testkit/treetest"
)

func init() { killtest.Life("hold", liveHold) }

// killedFiles is a machine with version 1, a group and a disk. boot_id is there because records are of one boot.
var killedFiles = map[string]string{
	"proc/self/mountinfo":                      "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:30 / ROOT/cg rw - cgroup cgroup rw,blkio\n",
	"proc/sys/kernel/random/boot_id":           "one\n",
	"sys/dev/block/254:0":                      "-> sys/devices/vda",
	"sys/block/vda":                            "-> sys/devices/vda",
	"sys/devices/vda/dev":                      "254:0\n",
	"sys/devices/vda/size":                     "2048\n",
	"sys/devices/vda/queue/scheduler":          "[none] bfq\n",
	"cg/cgroup.procs":                          "1\n",
	"cg/blkio.throttle.read_bps_device":        "",
	"cg/blkio.throttle.write_bps_device":       "",
	"cg/blkio.throttle.read_iops_device":       "",
	"cg/blkio.throttle.write_iops_device":      "",
	"cg/shop/cgroup.procs":                     "7\n",
	"cg/shop/blkio.throttle.read_bps_device":   "",
	"cg/shop/blkio.throttle.write_bps_device":  "",
	"cg/shop/blkio.throttle.read_iops_device":  "",
	"cg/shop/blkio.throttle.write_iops_device": "",
	"cg/shop/blkio.bfq.weight":                 "100\n",
	"cg/shop/blkio.bfq.weight_device":          "default 100\n",
}

// A killed is a Holder of those files, below the folder machine, with a group's scope on the disk. Records go to the folder state.
type killed struct {
	*Holder
	scope *Scope
	state string
}

func newKilled(dir string) (*killed, error) {
	fs := device.FS{Proc: filepath.Join(dir, "machine/proc"), Sys: filepath.Join(dir, "machine/sys")}
	groups, err := cgroup.Open(fs)
	if err != nil {
		return nil, err
	}
	h := &Holder{FS: fs, Groups: groups.Through(answer)}
	own, err := h.Groups.At("/shop")
	if err != nil {
		return nil, err
	}
	disk := &explain.Explanation{Possible: true, Hard: []explain.Spot{{Name: "vda", Number: device.Number{Major: 254}, MQ: true}}, Weights: []explain.Weight{{Name: "vda", Number: device.Number{Major: 254}}}}
	s := ScopeIn(own, "/srv", disk)
	s.Target = target.Target{Kind: target.Cgroup, Name: "/shop"}
	if root, err := h.Groups.Device(); err == nil { // Version 2 has no limits there.
		s.GroupSets = append(s.GroupSets, GroupSet{Name: rootGroup, Groups: root, DeviceWide: true})
	}
	return &killed{h, s, filepath.Join(dir, "state")}, nil
}

// answer writes a control file as the kernel does, whole or not at all: a file of a scheduler names all there are, and the others have a line for
// each device, which is the one there is.
func answer(path, text string, _ func(string, string) error) error {
	switch value := text[strings.IndexByte(text, ' ')+1:]; {
	case filepath.Base(path) == "scheduler":
		text = strings.Replace("none bfq", text, "["+text+"]", 1)
	case value == "default":
		text = "default 100"
	case value == "0":
		text = ""
	}
	if text != "" {
		text += "\n"
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	return errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path))
}

// set is plimsoll limit set --device-wide --enable-weights.
func (k *killed) set(ctx context.Context, l limit.Limits) error {
	c := limit.Change{Set: l}
	_, err := k.DeviceLimits(k.state).Change(ctx, k.scope, c, false, func() ([]Done, error) {
		if l.Weight > 0 {
			if _, _, err := k.Weights(k.state).Enable(ctx, k.scope, ""); err != nil {
				return nil, err
			}
		}
		done, err := k.Apply(ctx, k.scope, c)
		if err != nil {
			return nil, err
		}
		return done, k.Settings(k.state).Note(ctx, k.scope, c)
	})
	return err
}

// clear is plimsoll limit clear.
func (k *killed) clear(ctx context.Context) error {
	c := limit.Clear()
	_, err := k.DeviceLimits(k.state).Change(ctx, k.scope, c, false, func() ([]Done, error) {
		done, err := k.Apply(ctx, k.scope, c)
		if err != nil {
			return nil, err
		}
		if _, err := k.Weights(k.state).Undo(ctx, k.scope); err != nil {
			return nil, err
		}
		return done, k.Settings(k.state).Note(ctx, k.scope, c)
	})
	return err
}

// liveHold holds limits of its own and removes them, sets limits that stay, changes them, and clears them. It prints what it does next.
func liveHold(dir string) error {
	k, err := newKilled(dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	say := func(words string) { os.Stdout.WriteString(words + "\n") }
	trial := Request{Scope: ScopeIn(k.scope.GroupSets[0].Groups, "/srv", k.scope.Places[0].Explanation), Limits: limit.Limits{WriteBPS: 7 << 20, DeviceWide: true}}
	t, err := k.Hold(ctx, k.state, "a run", []Request{trial})
	if err != nil {
		return err
	}
	if err := t.Release(); err != nil {
		return err
	}
	for _, l := range []limit.Limits{{WriteBPS: 1 << 20, Weight: 300}, {WriteBPS: 2 << 20, ReadBPS: 3 << 20}} {
		if err := k.set(ctx, l); err != nil {
			return err
		}
		say("set " + l.String())
	}
	say("clear")
	return k.clear(ctx)
}

// TestKilled: a process that holds, sets, changes and clears limits is killed at each call by which it changes something. All that
// it has done to the root group and to the disk is recorded then. The next process removes what was the killed one's own, finds what was set to
// stay, and clears it, and nothing is left.
func TestKilled(t *testing.T) {
	killed := killtest.Test{
		Name:  "hold",
		Kinds: []string{"device-limit", "disk-weights", "limit-set"},
		// All files are written by rename, and the journal's own test has the calls before that.
		Calls: []string{"renameat", "unlinkat"},
		Before: func(t *testing.T, dir string) {
			if err := os.Symlink(treetest.Make(t, killedFiles), filepath.Join(dir, "machine")); err != nil {
				t.Fatal(err)
			}
		},
		After: func(t *testing.T, dir, at, said string) {
			at += ", after " + strings.Join(strings.Fields(said), " ")
			k, err := newKilled(dir)
			if err != nil {
				t.Fatal(err)
			}
			k.recorded(t, at)
			if _, err := SweepRuns(t.Context(), k.FS, k.state); err != nil {
				t.Errorf("killed at %s: %v", at, err)
			}
			k.recorded(t, at)
			k.stays(t, at, said)
			if err := k.clear(t.Context()); err != nil {
				t.Errorf("killed at %s: %v", at, err)
			}
			k.untouched(t, at)
		},
	}.Run(t)
	if killed < 25 {
		t.Errorf("it was killed %d times, which are too few for what it does", killed)
	}
}

// has reads a control file.
func (k *killed) has(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(filepath.Dir(k.state), "machine", file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// recorded fails unless the records say whose the limits in the root group are, and how the disk was scheduled before.
func (k *killed) recorded(t *testing.T, at string) {
	t.Helper()
	all, err := k.DeviceLimits(k.state).List()
	if err != nil {
		t.Fatalf("killed at %s: %v", at, err)
	}
	root, now, err := k.DeviceLimits(k.state).now()
	if err != nil || root == nil {
		t.Fatal(root, err)
	}
	for d, l := range now {
		n := on(all, d)
		for _, key := range l.Keys() {
			if n == nil || !n.has(key, l.Text(key)) {
				t.Errorf("killed at %s: the root group has %s, and the record is %+v", at, l, n)
			}
		}
	}
	disks, err := k.Weights(k.state).records.list()
	if err != nil {
		t.Errorf("killed at %s: %v", at, err)
	}
	recorded := len(disks) == 1 && disks[0].Edits[0].Was[0] == "none"
	if scheduled := k.has(t, "sys/devices/vda/queue/scheduler"); scheduled != "[none] bfq" && !recorded {
		t.Errorf("killed at %s: the disk has %q, and the record is %+v", at, scheduled, disks)
	}
}

// stays fails unless what was set is there, in the groups and in the records.
func (k *killed) stays(t *testing.T, at, said string) {
	t.Helper()
	if !strings.Contains(said, "set ") || strings.Contains(said, "clear") {
		return
	}
	for file, want := range map[string][]string{
		"cg/blkio.throttle.write_bps_device":      {"254:0 1048576", "254:0 2097152"},
		"cg/shop/blkio.throttle.write_bps_device": {"254:0 1048576", "254:0 2097152"},
		"cg/shop/blkio.bfq.weight_device":         {"254:0 300"},
		"sys/devices/vda/queue/scheduler":         {"none [bfq]"},
	} {
		if has := k.has(t, file); !slices.Contains(want, has) {
			t.Errorf("killed at %s: %s has %q, want one of %q", at, file, has, want)
		}
	}
	if entries := journaltest.Entries(t, k.state); len(entries) != 3 {
		t.Errorf("killed at %s: recorded are %q", at, entries)
	}
}

// untouched fails if anything is left of what was set, held or recorded.
func (k *killed) untouched(t *testing.T, at string) {
	t.Helper()
	for _, file := range slices.Sorted(maps.Keys(killedFiles)) {
		if strings.HasPrefix(killedFiles[file], "-> ") || strings.HasPrefix(file, "proc/") {
			continue
		}
		if has := k.has(t, file); has != strings.TrimSpace(killedFiles[file]) {
			t.Errorf("killed at %s: %s has still %q", at, file, has)
		}
	}
	if left := journaltest.Left(t, k.state); len(left) > 0 {
		t.Errorf("killed at %s: left behind: %q", at, left)
	}
}
