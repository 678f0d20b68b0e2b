package keeper

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/testkit/killtest"
	"plimsoll/internal/testkit/treetest"
)

func init() { killtest.Life("root", liveRoot) }

// rootFiles is a machine with version 1 and a disk, for which another program has set a limit in the root group.
var rootFiles = map[string]string{
	"proc/self/mountinfo":               "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:30 / ROOT/cg rw - cgroup cgroup rw,blkio\n",
	"proc/sys/kernel/random/boot_id":    "one\n",
	"sys/dev/block/254:0":               "-> sys/devices/vda",
	"sys/block/vda":                     "-> sys/devices/vda",
	"sys/devices/vda/dev":               "254:0\n",
	"sys/devices/vda/size":              "2048\n",
	"sys/devices/vda/wwid":              "a disk\n",
	"cg/cgroup.procs":                   "1\n",
	"cg/blkio.throttle.read_bps_device": "",
	"cg/" + rootWrites:                  "254:0 5242880\n",
}

const rootWrites = "blkio.throttle.write_bps_device"

// newRoot is a keeper of those files, without its loop: all it does, it does on the test's thread.
func newRoot(dir string) (*Keeper, error) {
	h, err := holderIn(filepath.Join(dir, "machine"))
	if err != nil {
		return nil, err
	}
	// A control file takes a value whole or not at all, and 0 removes it.
	h.Groups = h.Groups.Through(func(path, text string, _ func(string, string) error) error {
		if text += "\n"; strings.HasSuffix(text, " 0\n") {
			text = ""
		}
		return errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path))
	})
	k, err := New(Options{Holder: h, Policy: filepath.Join(dir, "policy.yaml"), Run: filepath.Join(dir, "run"), DeviceLimits: h.DeviceLimits(filepath.Join(dir, "shared"))})
	if err == nil {
		k.complete.Store(true)
	}
	return k, err
}

// rootRates applies rates of the disk in the root group; those that are zero are removed. Without a rule for a rate there is none of its key.
func rootRates(k *Keeper, rates map[limit.Key]int64) error {
	var grants []Grant
	for key, rate := range rates {
		g := Grant{Slot: Slot{Key: key, Device: device.Number{Major: 254}, DeviceWide: true}, DeviceName: "vda", Rule: string(key)}
		*g.limits.Whole(key) = rate
		g.Value = g.limits.Text(key)
		grants = append(grants, g)
	}
	k.deviceWide["a container"] = grants
	k.applyRoot()
	var errs []error
	for _, f := range k.root.broken {
		errs = append(errs, f.Err)
	}
	return errors.Join(errs...)
}

// liveRoot sets a limit in the root group, changes it beside another, removes what another program had set, and gives everything back.
func liveRoot(dir string) error {
	k, err := newRoot(dir)
	if err != nil {
		return err
	}
	for _, rates := range []map[limit.Key]int64{
		{limit.WriteBPS: 1 << 20}, {limit.WriteBPS: 2 << 20, limit.ReadBPS: 3 << 20}, {limit.WriteBPS: 0, limit.ReadBPS: 3 << 20}, {limit.WriteBPS: 4 << 20}, nil,
	} {
		if err := rootRates(k, rates); err != nil {
			return err
		}
	}
	return k.Close()
}

// TestKilledRoot: a keeper that limits a disk in the root group is killed at each call by which it changes something. Its limit has a record then, by which
// the next keeper, and limit clear without one, restore what another program had set.
func TestKilledRoot(t *testing.T) {
	t.Parallel()
	killed := killtest.Test{
		Name:  "root",
		Kinds: []string{"device-limit", "keeper"},
		// All files are written by rename, and the journal's own test has the calls before that.
		Calls: []string{"renameat", "unlinkat"},
		Before: func(t *testing.T, dir string) {
			if err := errors.Join(os.Symlink(treetest.Make(t, rootFiles), filepath.Join(dir, "machine")), os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte("rules: []\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
		},
		After: func(t *testing.T, dir, at, _ string) {
			has := func(file string) string {
				b, err := os.ReadFile(filepath.Join(dir, "machine", file))
				if err != nil {
					t.Fatal(err)
				}
				return strings.TrimSpace(string(b))
			}
			next, err := newRoot(dir)
			if err != nil {
				t.Fatalf("killed at %s: %v", at, err)
			}
			defer next.holder.Finder.Close()
			w := next.opt.DeviceLimits
			all, err := w.List()
			if err != nil {
				t.Errorf("killed at %s: %v", at, err)
			}
			if now := has("cg/" + rootWrites); now != "254:0 5242880" && (len(all) != 1 || len(next.root.held) == 0) {
				t.Errorf("killed at %s: the root group has %q; recorded are %+v, held %+v", at, now, all, next.root.held)
			}
			if strings.HasPrefix(at, "unlinkat") {
				_, err = w.Clear(t.Context(), all, nil, false, nil)
			} else {
				err = rootRates(next, nil)
			}
			if err != nil {
				t.Errorf("killed at %s: %v", at, err)
			}
			for _, file := range []string{"cg/" + rootWrites, "cg/blkio.throttle.read_bps_device"} {
				if is, was := has(file), strings.TrimSpace(rootFiles[file]); is != was {
					t.Errorf("killed at %s: %s has %q, want %q", at, file, is, was)
				}
			}
			next.store.sweep(nil, nil)
			if err := next.Close(); err != nil {
				t.Error(err)
			}
			if _, err := w.Sweep(t.Context()); err != nil {
				t.Error(err)
			}
			if left := slices.Concat(journaltest.Left(t, filepath.Join(dir, "shared")), journaltest.Left(t, filepath.Join(dir, "run"))); len(left) > 0 {
				t.Errorf("killed at %s: left behind: %q", at, left)
			}
		},
	}.Run(t)
	if killed < 15 {
		t.Errorf("it was killed %d times, which are too few for what it does", killed)
	}
}
