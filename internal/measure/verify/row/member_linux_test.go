package row_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/testkit/disktest"
)

// newSpread makes a bench for each of two disks that one btrfs spreads its data over by a profile. They share the worker and the group.
func newSpread(t *testing.T, profile string) (members [2]bench) {
	t.Helper()
	group := disktest.NewBlkioGroup(t)
	memory := disktest.Mount(t, "tmpfs", "tmpfs", 0, "")
	var loops [2]string
	for i := range loops {
		loops[i] = disktest.Loop(t, disktest.ImageNamed(t, memory, fmt.Sprint("image", i), 512<<20), true)
	}
	disktest.Format(t, loops[1], "btrfs", "-d", profile, "-m", "raid1", loops[0])
	dir := disktest.Mount(t, loops[0], "btrfs", 0, "device="+loops[1])
	b := benchOn(t, group, loops[0], dir)
	for i, loop := range loops {
		members[i] = b
		members[i].device, members[i].number = deviceOf(t, loop), disktest.Number(t, loop)
	}
	return members
}

// TestMembers: each of the devices of a btrfs is judged by what came to it. With stripes, all together carry twice the limit of
// each, which was said not to be held; a mirror's reads come to one of them, and of what is on one, nothing comes to the other.
func TestMembers(t *testing.T) {
	t.Parallel()
	const asked = 8 << 20
	profiles := []string{"raid0"} // TestRecorded judges others; the campaign measures them.
	if os.Getenv("PLIMSOLL_CAMPAIGN") != "" {
		profiles = append(profiles, "raid1", "single")
	}
	for _, profile := range profiles {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			members := newSpread(t, profile)
			for _, b := range members {
				b.put(t, "blkio.throttle.read_bps_device", asked)
				b.put(t, "blkio.throttle.write_bps_device", asked)
			}
			// Which members' limits were found to hold: the one of a file on one of them may be another next time.
			held, app, want := map[string]map[string]bool{}, 0.0, len(members)
			if profile == "single" {
				want = 1
			}
			enough := func() bool {
				return !slices.ContainsFunc([]string{"read_bps direct", "write_bps direct", "write_bps buffered+fsync"}, func(k string) bool { return len(held[k]) < want })
			}
			// A machine that is busy with other tests may not reach the limit now and then.
			for try := 0; try < 4 && !t.Failed() && !enough(); try++ {
				for _, b := range members {
					r := b.request(t, map[limit.Key]int64{limit.ReadBPS: asked, limit.WriteBPS: asked}, row.Direct, row.BufferedSync)
					r.Members = len(members)
					rows, err := row.Run(t.Context(), r)
					if err != nil {
						t.Fatal(err)
					}
					if len(rows) != 4 {
						t.Fatalf("%d rows, want 4", len(rows))
					}
					for _, r := range rows {
						if !r.Key.Writes() && r.Mode == row.BufferedSync {
							continue // Which says nothing of reads.
						}
						if r.Members != 2 || r.Verdict == judge.NotHeld || r.Verdict == judge.Failed {
							t.Errorf("%s %s: %s", r.Key, r.Mode, r.Words())
						}
						// Data on the other device proves nothing about this one's limit.
						if r.Verdict == judge.Held && r.Device < asked/2 {
							t.Errorf("%s %s: %s, but only %s came to this device", r.Key, r.Mode, r.Words(), r.Rate(r.Device))
						}
						// Enough threads read a mirror that each copy is read.
						if profile == "raid1" && strings.Contains(r.Why, "to its other devices") {
							t.Errorf("%s %s: %s", r.Key, r.Mode, r.Words())
						}
						if k := fmt.Sprintf("%s %s", r.Key, r.Mode); r.Verdict == judge.Held {
							if held[k] == nil {
								held[k] = map[string]bool{}
							}
							held[k][b.number] = true
						}
						if r.Mode == row.Direct {
							app = max(app, r.App)
						}
					}
				}
			}
			if !enough() {
				t.Errorf("held %v, want each of %d", held, want)
			}
			if profile == "raid0" && app < 1.5*asked {
				t.Errorf("the application never saw more than %v, want about twice the limit", app)
			}
		})
	}
}
