package check

import (
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/golden"
	"plimsoll/load"
)

// inFlightSlack is the slack of the clean trial: base and two rounds of 32
// blocks of 4 KiB.
const inFlightSlack = baseSlack + 2*32*4096

func TestCache(t *testing.T) {
	// For 80 MiB the limit of "all" is 72 MiB less the slack.
	all := int64(72*mib - inFlightSlack)
	testRows(t, []row{
		{"direct, none", func(t *record.Trial) { reads(t, 80*mib, 0, 0) }, "cache/doubt"},
		{"direct, just too few", func(t *record.Trial) { reads(t, 80*mib, all, all-1) }, "cache/doubt"},
		{"direct, just enough", func(t *record.Trial) { reads(t, 80*mib, all, all) }, ""},
		{"direct writes, none", func(t *record.Trial) { writes(t, 80*mib, 0) }, "cache/doubt"},
		{"buffered reads, none", func(t *record.Trial) { buffered(t); reads(t, 80*mib, 0, 0) }, "cache/doubt"},
		{"buffered writes, none", func(t *record.Trial) { buffered(t); writes(t, 80*mib, mib) }, "cache/doubt"},
		{"buffered writes with fsync, just too few", func(t *record.Trial) {
			buffered(t)
			t.Spec.Job.EndFsync = true
			writes(t, 80*mib, 40*mib-inFlightSlack-1)
		}, "cache/doubt"},
		{"buffered writes with fsync, just enough", func(t *record.Trial) {
			buffered(t)
			t.Spec.Job.EndFsync = true
			writes(t, 80*mib, 40*mib-inFlightSlack)
		}, ""},
		{"unsynced tail of a job that syncs every 4096", func(t *record.Trial) {
			buffered(t)
			t.Spec.Job.Fsync = 4096
			writes(t, 40*mib, 10*mib)
		}, ""},
		{"wal, none", func(t *record.Trial) { named(t, workload.WAL, 40*mib, 0) }, "cache/doubt"},
		{"wal, all", func(t *record.Trial) { named(t, workload.WAL, 40*mib, 41*mib) }, ""},
		{"append, none", func(t *record.Trial) { named(t, workload.Append, 640*kib, 0) }, "cache/note"},
		{"tree, reads and writes are one note", func(t *record.Trial) {
			named(t, workload.Tree, 640*kib, 0)
			t.Results[0].Classes = append(t.Results[0].Classes, load.Class{Name: "read", Bytes: 640 * kib})
			retruth(t)
		}, "cache/note"},
		{"append, half", func(t *record.Trial) { named(t, workload.Append, 640*kib, 320*kib) }, ""},
		{"tiny", func(t *record.Trial) { reads(t, baseSlack-1, 0, 0) }, ""},
		{"tmpfs", func(t *record.Trial) {
			named(t, workload.Tree, 80*mib, 0)
			t.Where[0].FSType, t.Where[0].Device = "tmpfs", nil
			retruth(t)
		}, "cache/note"},
		{"cached, the neighbour reads", func(t *record.Trial) { buffered(t); reads(t, 80*mib, 0, 90*mib) }, "cache/doubt neighbour/note"},
		{"cached, the neighbour reads, a file system that charges nobody", func(t *record.Trial) {
			buffered(t)
			reads(t, 80*mib, 0, 90*mib)
			t.Where[0].FSType = "ntfs3"
		}, ""},
		{"clients that started apart", func(t *record.Trial) {
			t.Results = append(t.Results, t.Results[0])
			t.StartSkew = 40 * ms
			retruth(t)
			t.Truth[0].DeviceRead = 134 * mib // 160 asked; 144 less the skew's 8 % and the slack is 130.6
		}, ""},
		{"unknown", func(t *record.Trial) {
			t.Truth[0] = Truth(&t.Results[0], nil, "nfs: data goes over the network to a:/b", -1, -1)
		}, "device-unknown/note"},
	})
}

func TestCacheBeneathLoop(t *testing.T) {
	loop := func(bottom int64) func(*record.Trial) {
		return func(t *record.Trial) {
			t.Where[0].Device = &record.Device{Name: "loop0", Number: device.Number{Major: 7}, Stack: []string{"loop0", "vda"}}
			t.Results[0].Disks = []workload.DiskDelta{
				{Number: device.Number{Major: 7}, Name: "loop0", ReadBytes: 80 * mib, Busy: 490 * ms},
				{Number: device.Number{Major: 254}, Name: "vda", ReadBytes: bottom},
			}
			retruth(t)
			t.Truth[0].Layers = Layers([]device.Layer{{Parts: []device.Part{{Name: "loop0", Number: device.Number{Major: 7}}}}, {Parts: []device.Part{{Name: "vda", Number: device.Number{Major: 254}}}}}, t.Results[0].Disks, true, nil, 0)
		}
	}
	testRows(t, []row{
		{"nothing beneath", loop(0), "cache/doubt"},
		{"just too few", loop(40*mib - inFlightSlack - 1), "cache/doubt"},
		{"just enough", loop(40*mib - inFlightSlack), ""},
	})
}

func TestDirect(t *testing.T) {
	file := func(set func(*workload.FileState)) func(*record.Trial) {
		return func(t *record.Trial) { set(&t.Results[0].File) }
	}
	onTmpfs := func(set func(*workload.FileState)) func(*record.Trial) {
		return func(t *record.Trial) {
			t.Where[0].FSType, t.Where[0].Device = "tmpfs", nil
			t.Results[0].ProcRead, t.Results[0].Host.IOSome = 0, 0
			retruth(t)
			set(&t.Results[0].File)
		}
	}
	testRows(t, []row{
		{"refused", file(func(f *workload.FileState) { f.DirectOpen, f.DirectError = false, "invalid argument" }), "direct/doubt"},
		{"no alignment", file(func(f *workload.FileState) { f.DIOAlign = 0 }), "direct/doubt"},
		{"alignment not said", file(func(f *workload.FileState) { f.DIOAlign = -1 }), ""},
		{"resident, but the device did it all", file(func(f *workload.FileState) { f.Resident = 1 }), ""},
		{"resident", func(t *record.Trial) {
			t.Results[0].File.Resident = 0.06
			t.Truth[0] = Truth(&t.Results[0], nil, "x", -1, -1)
		}, "device-unknown/note direct/doubt"},
		{"hardly resident", func(t *record.Trial) {
			t.Results[0].File.Resident = 0.05
			t.Truth[0] = Truth(&t.Results[0], nil, "x", -1, -1)
		}, "device-unknown/note"},
		{"fuse", func(t *record.Trial) {
			t.Where[0].FSType = "fuse.sshfs"
			t.Truth[0] = Truth(&t.Results[0], nil, "x", -1, -1)
		}, "device-unknown/note direct/note"},
		{"tmpfs accepts", onTmpfs(func(*workload.FileState) {}), "cache/note"},
		{"tmpfs refuses", onTmpfs(func(f *workload.FileState) { f.DirectOpen = false }), "cache/note"},
	})
}

func TestUnwrittenAndCompressible(t *testing.T) {
	file := func(set func(*workload.FileState)) func(*record.Trial) {
		return func(t *record.Trial) { set(&t.Results[0].File) }
	}
	written := func(set func(*workload.FileState)) func(*record.Trial) {
		return func(t *record.Trial) { writes(t, 80*mib, 80*mib); set(&t.Results[0].File) }
	}
	testRows(t, []row{
		{"unwritten, read", file(func(f *workload.FileState) { f.Unwritten = 1 }), "unwritten/doubt"},
		{"unwritten, written", written(func(f *workload.FileState) { f.Unwritten = 1 }), "unwritten/note"},
		{"not said", file(func(f *workload.FileState) { f.Extents, f.Unwritten, f.Shared, f.Delalloc = -1, -1, -1, -1 }), ""},
		{"hole", file(func(f *workload.FileState) { f.Extents = 0; f.Size = inlineSize + 1 }), "unwritten/doubt"},
		{"inline", file(func(f *workload.FileState) { f.Extents = 0; f.Size = inlineSize }), ""},
		{"delayed", file(func(f *workload.FileState) { f.Delalloc = 2 }), "unwritten/doubt"},
		{"shared, read", file(func(f *workload.FileState) { f.Shared = 2 }), ""},
		{"shared, written", written(func(f *workload.FileState) { f.Shared = 2 }), "unwritten/doubt"},
		{"delayed, buffered writes", func(t *record.Trial) {
			buffered(t)
			writes(t, 80*mib, 80*mib)
			t.Results[0].File.Delalloc = 3
		}, ""},

		{"direct writes, shrunk", func(t *record.Trial) { writes(t, 80*mib, 72*mib-inFlightSlack-1) }, "compressible/doubt"},
		{"direct writes, not shrunk", func(t *record.Trial) { writes(t, 80*mib, 72*mib-inFlightSlack) }, ""},
		{"btrfs that compresses, shrunk", func(t *record.Trial) {
			writes(t, 80*mib, 20*mib)
			t.Where[0].FSType, t.Where[0].Options = "btrfs", "rw,compress-force=zstd:3"
		}, "compressible/doubt"},
		// The second did all of its 40 MiB in 30 ms, before the window of the first began, whose counters count.
		{"a client that was done before the other began", func(t *record.Trial) {
			writes(t, 40*mib, 40*mib)
			one := t.Results[0]
			t.Results[0].Start = time.Unix(1000, int64(40*ms))
			one.Start, one.Elapsed, one.WallElapsed, one.Samples = time.Unix(1000, 0), 30*ms, 30*ms, []load.Sample{{At: 30 * ms, Ops: 10240, Bytes: 40 * mib}}
			t.Results, t.StartSkew = append(t.Results, one), 40*ms
			retruth(t)
			t.Truth[1].DeviceWritten = 40 * mib
		}, "skew/doubt"},
		{"btrfs that compresses", func(t *record.Trial) { t.Where[0].FSType, t.Where[0].Options = "btrfs", "rw,compress=lzo" }, "compressible/note"},
		{"btrfs that doesn't", func(t *record.Trial) { t.Where[0].FSType, t.Where[0].Options = "btrfs", "rw,compress=no" }, ""},
		{"ext4 with a word like it", func(t *record.Trial) { t.Where[0].Options = "rw,compress=x" }, ""},
	})
}

func TestWindowClockSkew(t *testing.T) {
	ops := func(n int64) func(*record.Trial) {
		return func(t *record.Trial) { t.Results[0].Classes[0].Ops = n }
	}
	window := func(d time.Duration, limits string) func(*record.Trial) {
		return func(t *record.Trial) {
			t.Results[0].Elapsed, t.Results[0].WallElapsed, t.Where[0].Limits = d, d, limits
			t.Results[0].Disks[0].Busy = d
			retruth(t)
		}
	}
	wall := func(d time.Duration) func(*record.Trial) {
		return func(t *record.Trial) { t.Results[0].WallElapsed = d }
	}
	skew := func(d time.Duration) func(*record.Trial) {
		return func(t *record.Trial) {
			t.Results = append(t.Results, t.Results[0])
			t.Results[0].Disks[0].ReadBytes *= 2
			retruth(t)
			t.StartSkew = d
		}
	}
	ends := func(second time.Duration) func(*record.Trial) {
		return func(t *record.Trial) {
			skew(0)(t)
			t.Results[0].Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			t.Results[1].Start = t.Results[0].Start
			t.Results[1].Elapsed, t.Results[1].WallElapsed = second, second
		}
	}
	testRows(t, []row{
		{"nothing", ops(0), "window/doubt"},
		{"29", ops(29), "window/doubt"},
		{"1", ops(1), "window/doubt"},
		{"30", ops(30), "window/note"},
		{"999", ops(999), "window/note"},
		{"1000", ops(1000), ""},
		{"short", window(100*ms-1, ""), "window/note"},
		{"not short", window(250*ms, ""), ""},
		{"limited, short", window(time.Second-1, "write_bps=1"), "window/note"},
		{"limited, long", window(time.Second, "write_bps=1"), ""},
		{"clock, 10 ms", wall(510 * ms), ""},
		{"clock, more", wall(510*ms + 1), "clock/doubt"},
		{"clock, back", wall(489 * ms), "clock/doubt"},
		{"clock not said", wall(0), ""},
		{"skew at the limit", skew(50 * ms), ""},
		{"skew above", skew(51 * ms), "skew/doubt"},
		{"ends at the limit", ends(450 * ms), ""},
		{"ends apart", ends(449 * ms), "skew/doubt"},
	})
}

func TestGenerator(t *testing.T) {
	at := func(iops int64) func(*record.Trial) {
		return func(t *record.Trial) { t.Results[0].Classes[0].Ops = iops / 2 }
	}
	cpu := func(used, busy time.Duration) func(*record.Trial) {
		return func(t *record.Trial) {
			t.Results[0].Usage = load.Usage{User: used}
			t.Results[0].Disks[0].Busy = busy
			retruth(t)
		}
	}
	throttled := func(limits string) func(*record.Trial) {
		return func(t *record.Trial) {
			t.Where[0].Limits = limits
			t.Results[0].Throttled = workload.Throttled{Periods: 1, Time: 7 * ms}
		}
	}
	around := func(t *record.Trial, group string, cpus float64) {
		t.Where[0].Held = &limit.Held{Applied: []limit.Applied{{Key: limit.CPUs, Value: 0.5, By: limit.ByEngine}}}
		t.Results[0].Throttled.Groups = []workload.ThrottledGroup{{Group: group, CPUs: cpus, Periods: 1, Time: 7 * ms}}
	}
	testRows(t, []row{
		{"80 % of the ceiling", at(4e6), ""},
		{"more", at(4e6 + 2), "generator/doubt"},
		{"psync reaches its depth by threads", func(t *record.Trial) {
			at(4e6 + 2)(t)
			t.Results[0].IOEngine, t.Spec.Job.IOEngine = load.PSync, ""
		}, ""},
		{"null", func(t *record.Trial) { at(9e6)(t); t.Results[0].IOEngine = load.Null }, ""},
		{"CPU full, device idle", cpu(450*ms, 250*ms-1), "generator/doubt"},
		{"CPU full, device busy", cpu(450*ms, 250*ms), ""},
		{"CPU not full", cpu(450*ms-1, 0), ""},
		{"stopped", throttled(""), "throttled/doubt"},
		{"stopped, as asked", throttled("cpus=0.5"), "throttled/note"},
		{"stopped as asked, by its group", func(t *record.Trial) { throttled("cpus=0.5")(t); around(t, "/box", 0.5) }, "throttled/note"},
		{"stopped by a quota around it", func(t *record.Trial) { throttled("cpus=0.5")(t); around(t, "/pod", 0.2) }, "throttled/doubt"},
		{"stopped by a quota, and no limit", func(t *record.Trial) { throttled("")(t); around(t, "/pod", 0.5) }, "throttled/doubt"},
		{"fallback", func(t *record.Trial) { t.Results[0].IOEngine = load.LinuxAIO }, "io-engine/doubt"},
		{"linux-aio, buffered", func(t *record.Trial) {
			buffered(t)
			t.Spec.Job.IOEngine, t.Results[0].IOEngine = load.LinuxAIO, load.LinuxAIO
		}, "io-engine/doubt"},
		{"linux-aio, buffered, depth 1", func(t *record.Trial) {
			buffered(t)
			t.Spec.Job.IODepth = 1
			t.Spec.Job.IOEngine, t.Results[0].IOEngine = load.LinuxAIO, load.LinuxAIO
		}, ""},
	})
}

func TestTrialFirstTouch(t *testing.T) {
	first := func(bps float64) func(*record.Trial) {
		return func(t *record.Trial) {
			writes(t, 80*mib, 80*mib)
			t.Spec.Job.BS = 64 * kib
			t.Metric, t.Value = workload.Metric{Name: "bandwidth", Unit: "B/s"}, 160*mib
			t.Results[0].File.FirstTouch = bps
		}
	}
	testRows(t, []row{
		{"slow", first(32*mib - 1), "first-touch/note"},
		{"not slow", first(32 * mib), ""},
		{"not said", first(0), ""},
		{"small blocks", func(t *record.Trial) { first(mib)(t); t.Spec.Job.BS = 4096 }, ""},
	})
}

// TestWarm: sources that are not as cold or as warm as was asked for, and what reads of a share show.
func TestWarm(t *testing.T) {
	var sheet golden.Sheet
	for _, row := range []struct {
		name, reads, fs, from string
		resident              float64
		severity              string
	}{
		{"not asked", "", "9p", "", 1, ""},
		{"cold", workload.Cold, "ext4", "", 0.02, ""},
		{"warm", workload.Warm, "ext4", "", 1, ""},
		{"not cold", workload.Cold, "ext4", "", 0.5, record.Doubt},
		{"not warm", workload.Warm, "ext4", "", 0.5, record.Doubt},
		{"unknown", workload.Cold, "ext4", "", -1, ""},
		{"a warm share", workload.Warm, "9p", "", 1, record.Note},
		{"a warm share of the sources", workload.Warm, "ext4", "virtiofs", 0, record.Note},
		{"a cold share", workload.Cold, "fuse.sshfs", "", 0, record.Note},
		{"written to a share", workload.Warm, "9p", "ext4", 1, ""},
		{"memory", workload.Cold, "tmpfs", "", 1, record.Note},
	} {
		where := record.Where{FSType: row.fs}
		if row.from != "" {
			where.From = &record.From{FSType: row.from}
		}
		v := &view{t: &record.Trial{Spec: workload.Spec{Kind: workload.Tree, Reads: row.reads}, Results: []workload.Result{{Source: &workload.SourceState{Resident: row.resident}}}}, where: where}
		ws := checkWarm(v)
		switch {
		case row.severity == "" && len(ws) > 0:
			t.Errorf("%s: %q, want nothing", row.name, ws[0].Text)
		case row.severity != "" && (len(ws) != 1 || ws[0].Severity != row.severity):
			t.Errorf("%s: %+v, want a %s", row.name, ws, row.severity)
		case row.severity != "":
			sheet.Add(row.name, ws[0].Text)
		}
	}
	sheet.Check(t, "TestWarm.txt")
}
