// Package row measures one row of limit verify: whether a limit on I/O holds in one way of doing I/O.
//
// A limit is a number in a file of the kernel's until somebody has written against it. Whether it holds
// depends on how: direct I/O is charged to who does it, a sync to who syncs, and what
// is left in the page cache to whoever writes it back, which on control groups of version 1 is
// the root group. So each limit is tried in each mode, in the groups and in the file system that it is
// meant for, and what the application saw is put beside what reached the device.
//
// It knows neither containers nor how a limit is set: it is given a worker that is in
// the groups already, and the numbers that were asked for.
package row

import (
	"context"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// A Mode is a way of doing I/O that a limit may or may not hold.
type Mode string

// The modes, from the one that every limit holds to the one that few do.
const (
	// Direct passes the page cache by (O_DIRECT).
	Direct Mode = "direct"
	// DSync writes through the page cache and waits each time (O_DSYNC).
	DSync Mode = "dsync"
	// BufferedSync writes to the page cache and syncs once at the end; the time of the sync counts.
	BufferedSync Mode = "buffered+fsync"
	// Buffered writes to the page cache, and the kernel's flusher writes back; or reads through the cache.
	Buffered Mode = "buffered"
)

// Modes lists all modes, in their order.
var Modes = []Mode{Direct, DSync, BufferedSync, Buffered}

// partner is the other limit of the same direction.
func partner(k limit.Key) limit.Key {
	switch k {
	case limit.ReadBPS:
		return limit.ReadIOPS
	case limit.WriteBPS:
		return limit.WriteIOPS
	case limit.ReadIOPS:
		return limit.ReadBPS
	}
	return limit.WriteBPS
}

// keys lists the keys in the order of the rows.
var keys = []limit.Key{limit.ReadBPS, limit.ReadIOPS, limit.WriteBPS, limit.WriteIOPS}

const (
	// DefaultTime is how long each row is measured. A limiter counts in slices of a tenth of a second
	// and lets the first one through: under three seconds that shows.
	DefaultTime = 5 * time.Second
	// LeastTime is the least that says something.
	LeastTime = 3 * time.Second
	// DefaultTolerance is how far above or below the limit still counts as held.
	DefaultTolerance = judge.Tolerance
)

// A Request says what to verify.
type Request struct {
	// Agent is a worker in the groups and on the file system that the limits are for.
	Agent *agent.Agent
	// Device is the device that the limits were set on; FS is where the kernel shows it.
	Device device.Device
	FS     device.FS
	// Members is over how many devices, each under the limits, the file system spreads its data, with Device; 0: it is on one.
	Members int
	// Group is the group of I/O that the worker is in and that the limits are for, RootGroup the root group where the
	// controller is in version 1. They tell what the worker did from what others did; nil: it isn't told.
	Group, RootGroup *hierarchy.Group
	// OtherGroups are the target's in version 1, which holds each by itself. None of them is Group.
	OtherGroups []*hierarchy.Group
	// OneGroup: the target's processes are in one group only, so that its groups do nothing together.
	OneGroup bool
	// Asked holds the limits, in bytes or I/Os per second. Under are those that the kernel has, where others are asked
	// for; nil: the same.
	Asked, Under map[limit.Key]int64
	// Free is how many bytes of scratch small writes may be spread over, whose file is twice as large as what they write; 0: as many as
	// they need. What else is tried is not made smaller.
	Free int64
	// Used is how much of each limit the target used itself before the rows, as Busy returns it.
	Used map[limit.Key]float64
	// Modes are tried of each limit, and one that says nothing of it is a row that says so; nil: all that say something of it.
	Modes []Mode
	// Time is how long each row is measured, 0: DefaultTime. Tolerance is a share of
	// the limit, 0: DefaultTolerance.
	Time      time.Duration
	Tolerance float64
	// Changed, if set, reports whether the kernel's limit behind a row is no longer what it was when Asked was read, and what it is now, 0 for
	// none. It is called again and again while a row is measured.
	Changed func(limit.Key, Mode) (now int64, changed bool)
	// Look, if set, is called as often, by one at a time.
	Look func()
	// OnRow, if set, is told each row as it is done.
	OnRow func(Row)
}

// Run measures a row for each limit and mode. A row that could not be measured holds its error and is no
// error of Run's, unless the worker itself is gone or ctx is over.
func Run(ctx context.Context, r Request) ([]Row, error) {
	if r.Time == 0 {
		r.Time = DefaultTime
	}
	if r.Tolerance == 0 {
		r.Tolerance = DefaultTolerance
	}
	var rows []Row
	for _, key := range keys {
		if r.Asked[key] <= 0 {
			continue
		}
		for _, mode := range Modes {
			tried := tries(key, mode)
			if !r.wants(mode) || r.Modes == nil && !tried {
				continue
			}
			row, err := r.row(ctx, key, mode)
			if err != nil {
				return rows, err
			}
			rows = append(rows, row)
			if r.OnRow != nil {
				r.OnRow(row)
			}
			if tried && !r.Agent.Fit() {
				return rows, fmt.Errorf("%s, %s: the worker is gone: %s", key, mode, row.Error)
			}
		}
	}
	return rows, nil
}

// wants reports whether a mode is among those that were asked for.
func (r Request) wants(mode Mode) bool { return r.Modes == nil || slices.Contains(r.Modes, mode) }

// tries reports whether a mode says something of a limit: all do of writes, but reads don't sync.
func tries(key limit.Key, mode Mode) bool {
	return key.Writes() || mode == Direct || mode == Buffered
}

// pairs calls f with each limit and mode that is tried.
func (r Request) pairs(f func(limit.Key, Mode)) {
	for _, key := range keys {
		for _, mode := range Modes {
			if r.Asked[key] > 0 && r.wants(mode) && tries(key, mode) {
				f(key, mode)
			}
		}
	}
}

// Rows is how many rows of the request are tried: those of a mode that says nothing of a limit are not among them.
func (r Request) Rows() int {
	n := 0
	r.pairs(func(limit.Key, Mode) { n++ })
	return n
}

// Room is how many bytes of scratch the request's largest file takes.
func (r Request) Room() int64 {
	if r.Time == 0 {
		r.Time = DefaultTime
	}
	var most int64
	for key, asked := range r.Asked {
		for _, mode := range Modes {
			if asked > 0 {
				most = max(most, r.job(key, mode).Size)
			}
		}
	}
	return most
}

// row measures one limit in one mode.
func (r Request) row(ctx context.Context, key limit.Key, mode Mode) (Row, error) {
	row := Row{Finding: judge.Finding{Key: key, Asked: float64(r.Asked[key]), Seen: -1}, Mode: mode}
	if r.Members > 1 {
		row.Members = r.Members
	}
	if !tries(key, mode) {
		row.BS, row.Verdict, row.Why = r.blockSize(key), judge.Unproved, fmt.Sprintf("reads don't sync, so the mode %s can't test them: use %s or %s", mode, Direct, Buffered)
		return row, nil
	}
	job := r.job(key, mode)
	row.BS = job.BS
	if why := r.bindsFirst(key, job.BS); why != "" {
		row.Verdict, row.Why = judge.Unproved, why
		return row, nil
	}
	changes := r.watch(key, mode)
	m, err := r.measure(ctx, job, mode)
	row.Changed = changes()
	if err != nil {
		if ctx.Err() != nil {
			return row, context.Cause(ctx)
		}
		row.Verdict, row.Error = judge.Failed, err.Error()
		return row, nil
	}
	m.tolerance, m.busy, m.oneGroup = r.Tolerance, r.Used[key] > 0, r.OneGroup
	row.judge(m)
	return row, nil
}

// A measured is what one job did.
type measured struct {
	result *workload.Result
	// samples are what the device did by the counters of its own, as seen from outside.
	samples []sample
	// tolerance is a share of the limit; 0: judge.Tolerance.
	tolerance float64
	// busy: the target itself used the limit before.
	busy bool
	// oneGroup: its processes are in one group only.
	oneGroup bool
	// device is the limited device's part of the result; nil if it did nothing.
	device *workload.DiskDelta
	// flushing is when the flusher was told to write back what was left in the page cache, and flushed when it had; 0 where nothing was left
	// there.
	flushing, flushed time.Duration
}

// trialID names the trials: a worker has one at a time.
const trialID = "verify"

// measure lays the job's file out, does the job and follows the device meanwhile.
func (r Request) measure(ctx context.Context, job load.Job, mode Mode) (*measured, error) {
	flush := mode == Buffered && job.RW == load.Write
	spec := workload.Spec{Name: "verify", Kind: workload.Block, Job: job, Unsettled: flush}
	if err := r.Agent.Prepare(ctx, trialID, spec); err != nil {
		return nil, err
	}
	follow := r.follow()
	if err := r.Agent.Start(trialID); err != nil {
		follow.end()
		return nil, err
	}
	res, err := r.Agent.Wait(ctx, trialID, func(load.Sample) {})
	m := &measured{result: res}
	if err == nil && flush {
		m.flushing = time.Since(follow.begin)
		err = r.flush(ctx)
	}
	if flush {
		m.flushed = time.Since(follow.begin)
	}
	m.samples = follow.end()
	if err != nil {
		return nil, err
	}
	for i := range res.Disks {
		if d := &res.Disks[i]; d.Number() == r.Device.Number() {
			m.device = d
		}
	}
	return m, nil
}
