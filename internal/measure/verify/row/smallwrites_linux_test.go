package row_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify/row"
)

// rows tries one limit in all modes, until no row is unproved but those that may be.
func (b bench) rows(t *testing.T, key limit.Key, asked int64, may ...row.Mode) map[row.Mode]row.Row {
	t.Helper()
	rows := b.settled(t, rates(key, asked), func(r row.Row) bool { return r.Verdict != judge.Unproved || slices.Contains(may, r.Mode) })
	byMode := map[row.Mode]row.Row{}
	for _, r := range rows {
		byMode[r.Mode] = r
	}
	if len(rows) != len(row.Modes) || len(byMode) != len(rows) {
		t.Fatalf("%d rows of %d modes, want one for each of %d", len(rows), len(byMode), len(row.Modes))
	}
	return byMode
}

// TestSmallWrites: a limit on the number of writes in the group alone holds what a process sends itself, and not what the flusher writes
// back; with the root group's too it holds that as well. A btrfs puts small writes beside each other, so that they may come as fewer: then
// that is said.
func TestSmallWrites(t *testing.T) {
	t.Parallel()
	const asked, file = 200, writeIOPS
	kinds := []string{"ext4"} // TestRecorded judges others; the campaign measures them.
	if os.Getenv("PLIMSOLL_CAMPAIGN") != "" {
		kinds = append(kinds, "xfs", "btrfs")
	}
	for _, fs := range kinds {
		t.Run(fs, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, fs)
			var may []row.Mode
			if fs == "btrfs" {
				may = []row.Mode{row.BufferedSync, row.Buffered}
			}
			b.put(t, file, asked)
			check := func(rows map[row.Mode]row.Row, flushed judge.Verdict) {
				t.Helper()
				for mode, r := range rows {
					want := judge.Held
					if mode == row.Buffered {
						want = flushed
					}
					switch {
					case r.Verdict == want:
					case slices.Contains(may, mode) && r.Verdict == judge.Unproved && strings.Contains(r.Why, "has made larger ones of them"):
					case fs == "btrfs" && mode == row.BufferedSync && r.Verdict == judge.NotHeld:
						// While small writes come in, its threads make room for their metadata: they write before the sync, in the root group.
					default:
						t.Errorf("%s: %s, want %s", mode, r.Words(), want)
					}
					if mode == row.Buffered && r.Verdict == judge.NotHeld && r.Seen < 5*asked {
						t.Errorf("%s: %s, want many times the limit", mode, r.Words())
					}
				}
			}
			check(b.rows(t, limit.WriteIOPS, asked, may...), judge.NotHeld)
			b.whole(t, file, asked)
			check(b.rows(t, limit.WriteIOPS, asked, may...), judge.Held)
		})
	}
}

// TestModesDeviceWide: with the limit in the root group as well, what the flusher writes back is held too.
func TestModesDeviceWide(t *testing.T) {
	t.Parallel()
	const asked, file = 8 << 20, writeBPS
	kinds := []string{"btrfs"} // TestRecorded judges others; the campaign measures them.
	if os.Getenv("PLIMSOLL_CAMPAIGN") != "" {
		kinds = append(kinds, "xfs")
	}
	for _, fs := range kinds {
		t.Run(fs, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, fs)
			b.put(t, file, asked)
			b.whole(t, file, asked)
			for mode, r := range b.rows(t, limit.WriteBPS, asked) {
				if r.Verdict != judge.Held {
					t.Errorf("%s: %s, want it held", mode, r.Words())
				}
			}
		})
	}
}
