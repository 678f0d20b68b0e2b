package check

import (
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// synced turns a trial into one of a log with so many commits on a disk with a cache, which was flushed so often, a part of it by others.
func synced(commits, flushes, others int64) func(*record.Trial) {
	return func(t *record.Trial) {
		named(t, workload.WAL, 80*mib, 80*mib)
		t.Results[0].Classes = []load.Class{{Name: "commit", Ops: commits}, {Name: "write", Ops: commits, Bytes: 80 * mib}, {Name: "sync", Ops: commits}}
		t.Truth[0].Layers = []record.Layer{{Layer: device.Layer{Volatile: true, Parts: []device.Part{{Name: "vda", Number: device.Number{Major: 254}}}}, Flushes: flushes, OthersFlushes: others}}
	}
}

func TestSync(t *testing.T) {
	with := func(set, more func(*record.Trial)) func(*record.Trial) {
		return func(t *record.Trial) {
			set(t)
			more(t)
		}
	}
	option := func(o string) func(*record.Trial) { return func(t *record.Trial) { t.Where[0].Unflushed = o } }
	testRows(t, []row{
		{"each sync flushes", synced(1000, 1000, 0), ""},
		{"just enough", synced(1000, 900, 0), ""},
		{"just too few", synced(1000, 899, 0), "sync/doubt"},
		{"others flush, too, and there are enough besides", synced(1000, 2000, 1100), ""},
		{"others may have caused enough of them", synced(1000, 2000, 1101), "sync/note"},
		{"four jobs share flushes", with(synced(1000, 225, 0), func(t *record.Trial) { t.Spec.Job.NumJobs = 4 }), ""},
		{"a depth shares flushes", with(synced(1600, 90, 0), func(t *record.Trial) { t.Spec.Job.IODepth = 16 }), ""},
		{"clients share flushes", with(synced(1000, 900, 0), func(t *record.Trial) {
			t.Results, t.Truth, t.Where = append(t.Results, t.Results[0]), append(t.Truth, t.Truth[0]), append(t.Where, t.Where[0])
		}), ""},
		{"of two clients one began when the other had ended", with(synced(10, 10, 0), func(t *record.Trial) {
			one, other := t.Truth[0], t.Results[0]
			one.Layers = []record.Layer{one.Layers[0]}
			one.Layers[0].Flushes = 1000
			other.Classes = []load.Class{{Name: "write", Ops: 1000, Bytes: 80 * mib}, {Name: "sync", Ops: 1000}}
			t.Results, t.Truth, t.Where = append(t.Results, other), append(t.Truth, one), append(t.Where, t.Where[0])
		}), ""},
		{"fewer syncs than may be in flight at once", with(synced(2, 0, 0), func(t *record.Trial) { t.Spec.Job.IODepth = 16 }), "window/doubt"},
		{"one sync that flushed nothing", synced(1, 0, 0), "window/doubt sync/doubt"},
		{"an option decides, whatever was counted", with(synced(1000, 5000, 0), option("nobarrier")), "sync/doubt"},
		{"an option without a cache to flush", with(synced(1000, 0, 0), func(t *record.Trial) {
			option("nobarrier")(t)
			t.Truth[0].Layers[0].Volatile = false
		}), ""},
		{"a file system that syncs nothing, without a cache below", with(synced(1000, 0, 0), func(t *record.Trial) {
			option("volatile")(t)
			t.Truth[0].Layers[0].Volatile = false
		}), "sync/doubt"},
		{"an option beneath a loop device", with(synced(1000, 2000, 0), func(t *record.Trial) {
			below := t.Truth[0].Layers[0]
			below.On = "ext4 (nobarrier)"
			t.Truth[0].Layers = append(t.Truth[0].Layers, below)
			t.Truth[0].Layers[1].Written, t.Truth[0].Layers[1].Read = 80*mib, 80*mib
		}), "sync/doubt"},
	})
}

// TestUnseen: where the way down ends is said, as a doubt if it may be in memory.
func TestUnseen(t *testing.T) {
	unseen := func(maybe bool) func(*record.Trial) {
		return func(t *record.Trial) {
			t.Where[0].Unseen, t.Where[0].MaybeMemory = "loop0: its file is somewhere", maybe
		}
	}
	testRows(t, []row{
		{"may be memory", unseen(true), "cache/doubt"},
		{"something else", unseen(false), "device-unknown/note"},
	})
}
