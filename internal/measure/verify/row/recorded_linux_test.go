package row_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/testkit/golden"
)

// It takes some minutes, root, and the I/O controller of version 1.
var recordAnew = flag.Bool("record", false, "measure the recordings of TestRecorded anew")

const recordings = "testdata/recorded"

// TestRecorded judges rows that were measured once: on each file system, of several devices, beside neighbours, with limits in the group,
// in the root group and in none. 'go test -run TestRecorded -record -update' measures all of them anew.
func TestRecorded(t *testing.T) {
	if *recordAnew {
		t.Run("record", recordAll)
	}
	files, err := filepath.Glob(filepath.Join(recordings, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	var text strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var rec row.Recording
		if err := json.Unmarshal(b, &rec); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		r := rec.Judge()
		if r.Verdict != rec.Want {
			t.Errorf("%s: %s; want %s", f, r.Words(), rec.Want)
		}
		fmt.Fprintf(&text, "%s: %s\n  %s, %s: %s\n", strings.TrimSuffix(filepath.Base(f), ".json"), rec.Origin, r.Key, r.Mode, r.Words())
		fmt.Fprintf(&text, "  application %s, device %s, others %s, first second %+.0f %%, settled after %v, elapsed %v\n",
			r.Rate(r.App), r.Rate(r.Device), r.Rate(r.Others), r.Overshoot*100, r.Converged, r.Elapsed)
	}
	golden.Check(t, "recorded.txt", text.String())
}

// A rowToRecord is a row of a set-up, and the verdict that it calls for.
type rowToRecord struct {
	name string
	key  limit.Key
	mode row.Mode
	want judge.Verdict
}

// recordRows measures rows and writes them below testdata. A busy machine may keep a row from its verdict now and then: it is measured
// again.
func recordRows(t *testing.T, origin string, r row.Request, rows ...rowToRecord) {
	t.Helper()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	release, _, _ := strings.Cut(unix.ByteSliceToString(u.Release[:]), "-")
	origin += "; Linux " + release
	for _, x := range rows {
		for try := 0; ; try++ {
			rec, err := r.Record(t.Context(), x.key, x.mode, origin)
			if err != nil {
				t.Fatalf("%s: %v", x.name, err)
			}
			if got := rec.Judge(); got.Verdict != x.want && try < 11 {
				t.Logf("%s: %s", x.name, got.Words())
				continue
			}
			rec.Want = x.want
			b, err := rec.Text()
			if err == nil {
				err = os.MkdirAll(recordings, 0o755)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(recordings, x.name+".json"), b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
}

// rates is a request's limits.
func rates(key limit.Key, n int64) map[limit.Key]int64 { return map[limit.Key]int64{key: n} }

// The files of version 1's limits.
const (
	readBPS, writeBPS   = "blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"
	readIOPS, writeIOPS = "blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device"
)

// recordAll measures all recordings.
func recordAll(t *testing.T) {
	const mib = 1 << 20
	for _, fs := range []string{"ext4", "xfs", "btrfs"} {
		t.Run(fs, func(t *testing.T) {
			t.Parallel() // What is limited waits most of the time.
			b := newBench(t, fs)
			b.put(t, readBPS, 8*mib)
			b.put(t, writeBPS, 8*mib)
			if fs == "ext4" {
				recordRows(t, fs+", 8 MiB/s in the group", b.request(t, rates(limit.ReadBPS, 8*mib)),
					rowToRecord{fs + "-read-direct", limit.ReadBPS, row.Direct, judge.Held}, rowToRecord{fs + "-read-buffered", limit.ReadBPS, row.Buffered, judge.Held})
			}
			rows := []rowToRecord{
				{fs + "-direct", limit.WriteBPS, row.Direct, judge.Held}, {fs + "-dsync", limit.WriteBPS, row.DSync, judge.Held},
				{fs + "-synced", limit.WriteBPS, row.BufferedSync, judge.Held},
			}
			if fs != "btrfs" { // Its writers do a part of the flusher's work themselves, so that some are held.
				rows = append(rows, rowToRecord{fs + "-buffered", limit.WriteBPS, row.Buffered, judge.NotHeld})
			}
			recordRows(t, fs+", 8 MiB/s in the group", b.request(t, rates(limit.WriteBPS, 8*mib)), rows...)
			b.whole(t, writeBPS, 8*mib)
			recordRows(t, fs+", 8 MiB/s in the group and in the root group", b.request(t, rates(limit.WriteBPS, 8*mib)),
				rowToRecord{fs + "-root-buffered", limit.WriteBPS, row.Buffered, judge.Held})
		})
		t.Run(fs+" small", func(t *testing.T) {
			t.Parallel()
			b := newBench(t, fs)
			b.put(t, writeIOPS, 200)
			merged := judge.Held
			if fs == "btrfs" {
				merged = judge.Unproved // It puts small writes beside each other.
			}
			if fs != "btrfs" {
				recordRows(t, fs+", 200 writes a second in the group", b.request(t, rates(limit.WriteIOPS, 200)),
					rowToRecord{fs + "-small-direct", limit.WriteIOPS, row.Direct, judge.Held}, rowToRecord{fs + "-small-synced", limit.WriteIOPS, row.BufferedSync, judge.Held},
					rowToRecord{fs + "-small-buffered", limit.WriteIOPS, row.Buffered, judge.NotHeld})
			}
			b.whole(t, writeIOPS, 200)
			recordRows(t, fs+", 200 writes a second in the group and in the root group", b.request(t, rates(limit.WriteIOPS, 200)),
				rowToRecord{fs + "-small-root-buffered", limit.WriteIOPS, row.Buffered, merged})
		})
	}
	t.Run("reads", func(t *testing.T) {
		b := newBench(t, "ext4")
		b.put(t, readIOPS, 60)
		recordRows(t, "ext4, 60 reads a second in the group", b.request(t, rates(limit.ReadIOPS, 60)), rowToRecord{"read-iops-direct", limit.ReadIOPS, row.Direct, judge.Held})
	})
	t.Run("nothing", func(t *testing.T) {
		b := newBench(t, "ext4")
		recordRows(t, "ext4, no limit", b.request(t, rates(limit.WriteBPS, mib)),
			rowToRecord{"unlimited-direct", limit.WriteBPS, row.Direct, judge.NotHeld}, rowToRecord{"unlimited-synced", limit.WriteBPS, row.BufferedSync, judge.NotHeld})
		recordRows(t, "ext4, no limit", b.request(t, rates(limit.ReadIOPS, 50)), rowToRecord{"unlimited-read-iops", limit.ReadIOPS, row.Direct, judge.NotHeld})
	})
	t.Run("neighbour", func(t *testing.T) {
		b := newBench(t, "ext4")
		b.put(t, writeBPS, 4*mib)
		b.whole(t, writeBPS, 4*mib)
		b.neighbour(t)
		const origin = "ext4, 4 MiB/s in the group and in the root group; another group writes directly"
		r := b.request(t, rates(limit.WriteBPS, 4*mib))
		recordRows(t, origin, r, rowToRecord{"neighbour-direct", limit.WriteBPS, row.Direct, judge.Held}, rowToRecord{"neighbour-buffered", limit.WriteBPS, row.Buffered, judge.Held})
		r.Group, r.RootGroup = nil, nil
		recordRows(t, origin+"; the kernel doesn't count by group", r, rowToRecord{"neighbour-uncounted", limit.WriteBPS, row.Buffered, judge.Unproved})
	})
	for _, profile := range []string{"raid0", "raid1", "single"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			members := newSpread(t, profile)
			for _, b := range members {
				b.put(t, readBPS, 8*mib)
				b.put(t, writeBPS, 8*mib)
			}
			b := members[0]
			r := b.request(t, rates(limit.WriteBPS, 8*mib))
			r.Members = len(members)
			origin := "btrfs " + profile + " on two devices, each with 8 MiB/s in the group"
			if profile == "single" {
				// Nothing of a file on the other one comes to this one. btrfs chooses one for each file.
				recordRows(t, origin+"; the file is on the other", r, rowToRecord{"single-direct", limit.WriteBPS, row.Direct, judge.Unproved})
				return
			}
			recordRows(t, origin, r, rowToRecord{profile + "-direct", limit.WriteBPS, row.Direct, judge.Held}, rowToRecord{profile + "-synced", limit.WriteBPS, row.BufferedSync, judge.Held})
			read := b.request(t, rates(limit.ReadBPS, 8*mib))
			read.Members = len(members)
			recordRows(t, origin, read, rowToRecord{profile + "-read-direct", limit.ReadBPS, row.Direct, judge.Held})
			if profile == "raid0" {
				for _, b := range members {
					b.put(t, writeBPS, 32*mib)
				}
				r.Under = rates(limit.WriteBPS, 32*mib)
				recordRows(t, "btrfs raid0 on two devices, each with 32 MiB/s in the group", r, rowToRecord{"raid0-over-direct", limit.WriteBPS, row.Direct, judge.NotHeld},
					rowToRecord{"raid0-over-synced", limit.WriteBPS, row.BufferedSync, judge.NotHeld}, rowToRecord{"raid0-over-buffered", limit.WriteBPS, row.Buffered, judge.NotHeld})
			}
		})
	}
}
