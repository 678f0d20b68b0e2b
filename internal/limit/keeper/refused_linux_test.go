package keeper

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/testkit/disktest"
)

// rates are all rates of a group and of those below it.
func rates(t *testing.T, g disktest.Group) map[string]string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(string(g), "blkio.throttle.*_device"))
	below, _ := filepath.Glob(filepath.Join(string(g), "*", "blkio.throttle.*_device"))
	if len(files) < 4 {
		t.Fatalf("%s has %q", g, files)
	}
	all := map[string]string{}
	for _, f := range append(files, below...) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.TrimSpace(string(b)); text != "" {
			all[f] = text
		}
	}
	return all
}

// TestRefusedWrites: whichever write of a rule is refused, nothing of it is left, also of what a container made meanwhile, and
// nothing is noted as held. A value that can't be restored is noted, and removed later.
func TestRefusedWrites(t *testing.T) {
	needV1(t)
	group := disktest.NewBlkioGroup(t)
	disk := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	number := disktest.Number(t, disk)
	below := filepath.Join(string(group), "below")
	t.Cleanup(func() { os.Remove(below) })
	holder := holderFor(t)
	kernel := holder.Groups
	opt := Options{Holder: holder, Run: t.TempDir(), Policy: filepath.Join(t.TempDir(), "policy.yaml")}
	policy := "rules:\n- {name: one, match: all, where: {device: " + disk + "}, limits: {read_bps: 1MiB, write_bps: 1MiB, read_iops: 100, write_iops: 200}}\n"
	if err := os.WriteFile(opt.Policy, []byte(policy), 0o644); err != nil {
		t.Fatal(err)
	}
	for file, value := range map[string]string{"read_bps": " 5000000", "write_iops": " 700"} {
		if err := group.Put("blkio.throttle."+file+"_device", number+value); err != nil {
			t.Fatal(err)
		}
	}
	before := rates(t, group)
	// Four writes, and four of the group that is made at the third.
	for n := 1; n <= 8; n++ {
		count := 0
		holder.Groups = kernel.Through(func(path, text string, next func(string, string) error) error {
			if count++; count == 3 {
				if err := os.Mkdir(below, 0o755); err != nil {
					t.Error(err)
				}
			}
			if count == n {
				return syscall.EIO
			}
			return next(path, text)
		})
		done, err := Once(opt, targetOf(group))
		if err != nil || len(done.Faults) != 1 {
			t.Errorf("write %d refused: %+v, %v, want one fault", n, done, err)
		} else if text := done.Faults[0].Text; !strings.Contains(text, "input/output error") {
			t.Errorf("write %d refused: the fault is %q", n, text)
		}
		if len(done.Held) > 0 {
			t.Errorf("write %d refused: held are %+v", n, done.Held)
		}
		if now := rates(t, group); !maps.Equal(now, before) {
			t.Errorf("write %d refused: the group has %v, want %v", n, now, before)
		}
		os.Remove(below)
	}

	// One can't be restored at first.
	holder.Groups = kernel.Through(func(path, text string, next func(string, string) error) error {
		if strings.HasSuffix(path, "write_iops_device") || strings.HasSuffix(path, "write_bps_device") && strings.HasSuffix(text, " 0") {
			return syscall.EIO
		}
		return next(path, text)
	})
	if _, err := Once(opt, targetOf(group)); err == nil || !strings.Contains(err.Error(), "remove limits") {
		t.Errorf("what can't be restored: %v", err)
	}
	holder.Groups = kernel
	if err := os.WriteFile(opt.Policy, []byte("rules:\n- {name: other, match: all, limits: {cpus: none}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if done, err := Once(opt, targetOf(group)); err != nil {
		t.Errorf("Once() later = %+v, %v", done, err)
	}
	if now := rates(t, group); !maps.Equal(now, before) {
		t.Errorf("later the group has %v, want %v", now, before)
	}
}
