package check

import (
	"strings"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// tooFew is the share of the flushes that syncs need, below which some did not flush. It is not 1, because counters are
// read a moment before and after the window.
const tooFew = 0.9

// checkSync asks whether syncs flushed the devices below, down to the hardware. If a sync flushed nothing, its data may be
// in a cache that a power cut empties: faster, and less safe.
//
// A mount option decides whatever the counters say, because a device's flushes may come from any program. For the same
// reason too few flushes prove that syncs were lost, but enough flushes prove something only as far as other programs did
// not cause them.
func checkSync(v *view) []record.Warning {
	if v.memory || v.where.InMemory != "" {
		return nil
	}
	s := v.syncsOf()
	if s.all == 0 {
		return nil
	}
	if ws := v.unflushed(s); ws != nil {
		return ws
	}
	if why := v.where.JournalInMemory; why != "" {
		return unsafe(warning(Sync, record.Doubt, map[string]any{"syncs": s.all, "journal": why},
			"The file system's journal is in memory: %s. A power cut may lose synced data: the figure is that of a less safe place.", why))
	}
	for i := range v.results {
		if ws := flushed(v.syncsIn(&v.results[i]), v.layersOf(i)); ws != nil {
			return ws
		}
	}
	return nil
}

// flushed compares a client's syncs with the flushes of the devices below in the same window. On a busy machine the windows
// of clients differ, and so do their counters.
func flushed(s syncs, layers []record.Layer) []record.Warning {
	for _, l := range layers {
		if s.all == 0 || !l.Volatile || l.Flushes < 0 || l.FUA && s.calls == 0 {
			continue
		}
		why := ""
		if l.Any {
			why = " The program that serves the files did not pass the syncs on, or passed them to another machine."
		}
		if l.Flushes < s.least {
			return lost(s, l, why)
		}
		if l.Flushes-l.OthersFlushes < s.least {
			e := map[string]any{"syncs": s.all, "flushes": l.Flushes, "others": l.OthersFlushes, "least": s.least, "device": l.Name()}
			return warning(Sync, record.Note, e,
				"Plimsoll can't see whether these syncs flushed %s. Data was synced %s and the device was flushed %s, but other programs, which were flushing it before the trial began, may have caused %d of these flushes. Stop them to find out.",
				l.Name(), times(s.all), times(l.Flushes), l.OthersFlushes)
		}
	}
	return nil
}

// unflushed judges by mount options: of the place's file system, or of one that holds the file of a loop device. Where no
// device below has a cache to flush, nothing is lost, unless the file system syncs nothing at all.
func (v *view) unflushed(s syncs) []record.Warning {
	volatile := false
	option, what := "", ""
	layers := v.truth.Layers
	for i := len(layers) - 1; i >= 0; i-- {
		volatile = volatile || layers[i].Volatile
		if _, o, ok := strings.Cut(layers[i].On, "("); ok && volatile {
			option, what = strings.TrimSuffix(o, ")"), "The file of the loop device lies on "+layers[i].On+", which"
		}
	}
	if o := v.where.Unflushed; o == "volatile" || o == "fsync=volatile" || o != "" && volatile {
		option, what = o, "The file system is mounted with "+o+", so it"
	}
	if option == "" {
		return nil
	}
	return unsafe(warning(Sync, record.Doubt, map[string]any{"syncs": s.all, "option": option},
		"%s answered syncs without a flush (%s). A power cut may lose synced data: the figure is that of a less safe place.", what, times(s.all)))
}

// lost reports that syncs did not flush a device.
func lost(s syncs, l record.Layer, why string) []record.Warning {
	e := map[string]any{"syncs": s.all, "flushes": l.Flushes, "least": s.least, "device": l.Name()}
	flushed := l.Name() + " was flushed"
	if l.Any {
		flushed = "no disk of this machine was flushed more often than"
	}
	return unsafe(warning(Sync, record.Doubt, e, "Data was synced %s, but %s %s.%s A power cut may lose synced data: the figure is that of a less safe place.",
		times(s.all), flushed, times(l.Flushes), why))
}

// syncs counts how often a job made data durable in a window.
type syncs struct {
	// all counts calls and synchronous writes, but no more than there were writes.
	all int64
	// calls counts fsync and its like.
	calls int64
	// least is how many flushes they need. The syncs of one thread come one after another, and each waits for a flush that
	// began after it did, so no two share one. Syncs of several threads may share one, so the busiest thread decides, which
	// does at least its part of them. If there are fewer syncs than threads, all may have shared one that was over when the
	// window began.
	least int64
}

// syncsOf counts the syncs of all clients on the device.
func (v *view) syncsOf() (sum syncs) {
	for i := range v.results {
		s := v.syncsIn(&v.results[i])
		sum.all, sum.calls, sum.least = sum.all+s.all, sum.calls+s.calls, max(sum.least, s.least)
	}
	return sum
}

// layersOf are the layers below a client's files, with their counters in its window.
func (v *view) layersOf(client int) []record.Layer {
	if client >= len(v.truths) {
		return nil // A damaged record.
	}
	return v.truths[client].Layers
}

// syncsIn counts the syncs of one client.
func (v *view) syncsIn(r *workload.Result) (sum syncs) {
	count := func(classes []load.Class, j load.Job) {
		var s syncs
		var writes int64
		for _, c := range classes {
			switch {
			case c.Name == "sync":
				s.all += c.Ops
				s.calls += c.Ops
			case c.Name == "write":
				writes += c.Ops
				if j.Sync != "" {
					s.all += c.Ops
				}
			}
		}
		// A sync without a write before it may do nothing.
		s.all = min(s.all, writes)
		sum.all += s.all
		sum.calls += s.calls
		threads := int64(max(1, j.NumJobs) * max(1, j.IODepth))
		least := int64(tooFew * float64(s.all/threads))
		if s.all > 0 && threads == 1 {
			least = max(1, least)
		}
		sum.least = max(sum.least, least)
	}
	if v.t.Spec.Kind == workload.Stage {
		for k := range r.Stage {
			count(r.Stage[k].Classes, r.Stage[k].Job)
		}
		return sum
	}
	count(r.Classes, v.t.Spec.Job)
	return sum
}
