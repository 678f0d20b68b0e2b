package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/texttest"
)

// TestLimitWeights: a weight is refused where it would do nothing, takes effect when a disk is asked to be divided by
// weight, and clear puts the disk's scheduler back, whichever it was.
func TestLimitWeights(t *testing.T) {
	needBlkio(t)
	l := limitLab{target.Options{}, t.TempDir()}
	for _, before := range []string{"none", "mq-deadline"} {
		t.Run(before, func(t *testing.T) {
			loop, _ := fastDisk(t)
			disktest.Schedule(t, loop, before)
			group, other := disktest.NewBlkioGroup(t), disktest.NewBlkioGroup(t)
			name, neighbor, disk := "cgroup:"+string(group), "cgroup:"+string(other), filepath.Base(loop)
			has := func(when, scheduler, weight string) {
				t.Helper()
				b, err := os.ReadFile(filepath.Join(string(group), "blkio.bfq.weight_device"))
				if err != nil {
					t.Fatal(err)
				}
				_, got, _ := strings.Cut(string(b), disktest.Number(t, loop)+" ")
				if now := disktest.Scheduler(t, loop); now != scheduler || strings.TrimSpace(got) != weight {
					t.Errorf("%s: scheduled by %s, want %s; weight %q, want %q", when, now, scheduler, b, weight)
				}
			}
			says := func(status int, words []string, args ...string) {
				t.Helper()
				text := l.do(t, status, args...)
				texttest.Has(t, text, words, args)
			}
			set := []string{"set", name, "--device", loop, "--weight", "200"}
			says(exitCannot, []string{disk + " is scheduled by " + before + ", which knows no weights", "echo bfq > /sys/block/" + disk + "/queue/scheduler", "--enable-weights does that"}, set...)
			says(exitCannot, nil, append(set, "--enable-weights=iocost")...)
			says(exitUsage, []string{"write auto, bfq or iocost"}, append(set, "--enable-weights=cfq")...)
			says(exitUsage, []string{"--enable-weights needs --weight"}, "set", name, "--device", loop, "--write-bps", "1MiB", "--enable-weights")
			// The group is one of the I/O controller alone.
			says(exitFailure, []string{"cpu"}, append(set, "--cpus", "1", "--enable-weights")...)
			has("refused", before, "")

			says(exitDone, []string{"set weight=200", "weights take effect on " + disk + " by bfq", "for all its users; plimsoll limit clear restores the earlier setting"}, append(set, "--enable-weights")...)
			has("enabled", "bfq", "200")
			says(exitDone, []string{"unchanged"}, set...)
			// A later refusal leaves the enabled controllers, and the weight.
			says(exitFailure, []string{"cpu"}, "set", name, "--device", loop, "--weight", "300", "--cpus", "1", "--enable-weights")
			has("refused later", "bfq", "200")
			says(exitDone, []string{"set weight=50"}, "set", neighbor, "--device", loop, "--weight", "50", "--enable-weights")
			says(exitDone, nil, "clear", name, "--only", "write_bps")
			has("a rate cleared", "bfq", "200")
			says(exitDone, []string{"would write"}, "clear", name, "--dry-run")
			has("clear --dry-run", "bfq", "200")
			says(exitDone, []string{"cleared"}, "clear", name)
			has("cleared, and the neighbor has one", "bfq", "")
			says(exitDone, []string{disk + " is not divided by weight any more", "has its old value again"}, "set", neighbor, "--device", loop, "--weight", "none")
			has("all cleared", before, "")

			// With --json too, and once more from the beginning.
			var got struct {
				Notes []string `json:"notes"`
			}
			l.do(t, exitDone, append(set, "--enable-weights")...)
			text := l.do(t, exitDone, "clear", name, "--json")
			if err := json.Unmarshal([]byte(text), &got); err != nil || !strings.Contains(strings.Join(got.Notes, "\n"), "has its old value again") {
				t.Errorf("clear --json: %v: %s", err, text)
			}
			has("cleared again", before, "")
		})
	}
}
