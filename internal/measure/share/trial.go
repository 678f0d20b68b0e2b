package share

import (
	"encoding/json"
	"fmt"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// trial returns the part of a trial that a stranger may have. Its workload is that of the plan, with what a run changes.
func (f *filter) trial(t *record.Trial) (record.Trial, error) {
	c := f.names.cell(t.Cell)
	spec, ok := f.plan.Workload(c.Workload)
	if !ok {
		return record.Trial{}, fmt.Errorf("the plan has no workload %s", c.Workload)
	}
	spec.Runtime, spec.Count, spec.Job.Runtime = t.Spec.Runtime, t.Spec.Count, t.Spec.Job.Runtime
	spec.Job.IOEngine = fact(t.Spec.Job.IOEngine)
	out := record.Trial{
		Cell: c, Key: f.plan.Key(c), Block: t.Block, Order: t.Order, Started: t.Started.UTC(), Wall: t.Wall, Overhead: t.Overhead,
		SessionOpen: t.SessionOpen, StartSkew: t.StartSkew, Status: oneOf(t.Status, record.Done, record.Failed), Phase: fact(t.Phase),
		Spec: spec, Metric: spec.Metric(), Value: t.Value, Warnings: warnings(t.Warnings),
	}
	if t.Error != "" {
		out.Error = LeftOut
	}
	for i := range t.Results {
		var own *record.Device
		if i < len(t.Where) {
			own = t.Where[i].Device
		}
		out.Results = append(out.Results, result(&t.Results[i], own))
	}
	for i := range t.Truth {
		out.Truth = append(out.Truth, truth(&t.Truth[i]))
	}
	for i := range t.Where {
		out.Where = append(out.Where, f.where(&t.Where[i]))
	}
	return out, nil
}

// direction is which bytes a warning of the page cache is about; empty for other evidence.
func direction(evidence json.RawMessage) string {
	var e struct{ Direction string }
	if json.Unmarshal(evidence, &e) != nil {
		return ""
	}
	return oneOf(e.Direction, "read", "written")
}

// result is what one client measured. Of the disks it keeps the one under the place.
func result(r *workload.Result, own *record.Device) workload.Result {
	out := workload.Result{
		IOEngine: fact(r.IOEngine), Buffers: fact(r.Buffers), Elapsed: r.Elapsed, WallElapsed: r.WallElapsed, Start: r.Start.UTC(),
		Starved: r.Starved, Fetched: r.Fetched, Usage: load.Usage{User: r.Usage.User, System: r.Usage.System, MaxRSS: r.Usage.MaxRSS},
		ProcRead: r.ProcRead, ProcWritten: r.ProcWritten, CountsFlushes: r.CountsFlushes,
		Throttled: workload.Throttled{Periods: r.Throttled.Periods, Time: r.Throttled.Time},
		Late:      r.Late, MaxLate: r.MaxLate, Missed: r.Missed, Drained: r.Drained,
		File: workload.FileState{
			Size: r.File.Size, Extents: r.File.Extents, Unwritten: r.File.Unwritten, Shared: r.File.Shared, Delalloc: r.File.Delalloc,
			DirectAsked: r.File.DirectAsked, DirectOpen: r.File.DirectOpen, DIOAlign: r.File.DIOAlign, Resident: r.File.Resident, FirstTouch: r.File.FirstTouch,
		},
		Prepared: r.Prepared, Settled: r.Settled, Verified: workload.VerifyState{Bytes: r.Verified.Bytes, Took: r.Verified.Took},
		Host: workload.HostDelta{
			CPUs: r.Host.CPUs, CPUBusy: r.Host.CPUBusy, Steal: r.Host.Steal, CPUWait: r.Host.CPUWait, IOSome: r.Host.IOSome,
			MemorySome: r.Host.MemorySome, Allowed: r.Host.Allowed,
		},
	}
	for _, c := range r.Classes {
		out.Classes = append(out.Classes, load.Class{
			Name: oneOf(c.Name, "read", "write", "sync", "append", "commit", "file", "stat", "command"), Ops: c.Ops, Bytes: c.Bytes,
			InFlight: c.InFlight, AtLeast: c.AtLeast, Failed: c.Failed, Lat: c.Lat, Response: c.Response,
		})
	}
	out.Samples = append(out.Samples, r.Samples...) // Figures alone, as in the rounds.
	if r.Rounds != nil {
		out.Rounds = &workload.Rounds{Each: append([]load.Sample(nil), r.Rounds.Each...), From: r.Rounds.From, To: r.Rounds.To}
	}
	if r.Flushed != nil {
		out.Flushed = &workload.Flushed{Writes: r.Flushed.Writes, Bytes: r.Flushed.Bytes}
	}
	if r.Command != nil {
		out.Command = &workload.CommandEnd{Exit: r.Command.Exit, Files: r.Command.Files, Bytes: r.Command.Bytes}
	}
	if s := r.Source; s != nil {
		out.Source = &workload.SourceState{Files: s.Files, Bytes: s.Bytes, Resident: s.Resident}
	}
	for _, d := range r.Disks {
		if own != nil && d.Number == own.Number {
			out.Disks = append(out.Disks, workload.DiskDelta{
				Number: d.Number, Name: disk(d.Name), Reads: d.Reads, Writes: d.Writes, ReadBytes: d.ReadBytes, WrittenBytes: d.WrittenBytes,
				ReadMerges: d.ReadMerges, WriteMerges: d.WriteMerges, ReadTime: d.ReadTime, WriteTime: d.WriteTime, Busy: d.Busy,
				Flushes: d.Flushes, FlushTime: d.FlushTime,
			})
		}
	}
	return out
}

func truth(t *record.Truth) record.Truth {
	out := record.Truth{
		AppRead: t.AppRead, AppWritten: t.AppWritten, ProcRead: t.ProcRead, ProcWritten: t.ProcWritten,
		CgroupRead: t.CgroupRead, CgroupWritten: t.CgroupWritten,
		Device: disk(t.Device), DeviceRead: t.DeviceRead, DeviceWritten: t.DeviceWritten, DeviceBusy: t.DeviceBusy,
	}
	if t.DeviceWhy != "" {
		out.DeviceWhy = LeftOut
	}
	return out
}

// where is the storage under a client's data, without its folder, its source and the names of groups.
func (f *filter) where(w *record.Where) record.Where {
	out := record.Where{
		Host: f.names.of(w.Host), FSType: fact(w.FSType), Options: fact(w.Options), Device: deviceOf(w.Device),
		Runtime: fact(w.Runtime), Daemon: fact(w.Daemon), Storage: fact(w.Storage), Kernel: fact(w.Kernel, kernelVersion), CgroupVersion: w.CgroupVersion,
		Isolation: fact(w.Isolation), Limits: fact(w.Limits), Memory: w.Memory, MaybeMemory: w.MaybeMemory,
		InMemory: leftOut(w.InMemory), Unseen: leftOut(w.Unseen), Unflushed: fact(w.Unflushed), JournalInMemory: leftOut(w.JournalInMemory),
	}
	if w.From != nil {
		out.From = &record.From{FSType: fact(w.From.FSType), Options: fact(w.From.Options), Device: deviceOf(w.From.Device)}
	}
	if w.Held != nil {
		out.Held = &limit.Held{Applied: applied(w.Held.Applied)}
		for _, e := range w.Held.Escapes {
			out.Held.Escapes = append(out.Held.Escapes, limit.Escape{Mode: fact(e.Mode), Holds: fact(e.Holds), Closed: e.Closed})
		}
	}
	out.Foreign = applied(w.Foreign)
	if w.Dirty != nil {
		out.Dirty = &record.Dirty{Room: w.Dirty.Room, Limit: w.Dirty.Limit}
	}
	return out
}

// leftOut says that a run had a text; empty if it had none.
func leftOut(s string) string {
	if s == "" {
		return ""
	}
	return LeftOut
}

func applied(all []limit.Applied) []limit.Applied {
	var out []limit.Applied
	for _, a := range all {
		out = append(out, limit.Applied{Key: oneOf(a.Key, limit.Keys...), Value: a.Value, Device: disk(a.Device), Number: a.Number, By: fact(a.By)})
	}
	return out
}

// deviceOf is a disk without its identity, which is a serial number.
func deviceOf(d *record.Device) *record.Device {
	if d == nil {
		return nil
	}
	out := &device.Device{
		Name: disk(d.Name), Number: d.Number, Model: fact(d.Model, diskCode), Size: d.Size, Rotational: d.Rotational, Scheduler: fact(d.Scheduler),
		NrRequests: d.NrRequests, WriteCache: fact(d.WriteCache), FUA: d.FUA, LogicalBS: d.LogicalBS, MaxIO: d.MaxIO, MQ: d.MQ,
	}
	for _, s := range d.Stack {
		out.Stack = append(out.Stack, disk(s))
	}
	return out
}
