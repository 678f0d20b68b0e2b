// Package row measures one row of limit verify: whether a limit on I/O holds in one way of doing I/O.
//
// A limit is only a number in a file of the kernel's until something has written against it. Whether it holds depends
// on the kind of I/O. Direct I/O is charged to the process that does it, and a sync to the process that syncs. Data
// left in the page cache is charged to whatever writes it back, with version 1 of control groups the root group. So
// each limit is tested in each mode, in the groups and in the file system that it is meant for, and the application's
// rate is compared with what reached the device.
//
// The package knows neither containers nor how limits are set: its caller provides a worker that is already in the
// groups, and the limits to test.
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

// The modes, from the one that every limit holds to the one that few hold.
const (
	// Direct bypasses the page cache (O_DIRECT).
	Direct Mode = "direct"
	// DSync writes through the page cache and waits for each write (O_DSYNC).
	DSync Mode = "dsync"
	// BufferedSync writes to the page cache and syncs once at the end; the time of the sync counts.
	BufferedSync Mode = "buffered+fsync"
	// Buffered writes to the page cache, from which the kernel's flusher writes back; or it reads through the cache.
	Buffered Mode = "buffered"
)

// Modes lists all modes, in order.
var Modes = []Mode{Direct, DSync, BufferedSync, Buffered}

// partner returns the other limit of the same direction.
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
	// DefaultTime is how long each row is measured. A limiter counts in slices of a tenth of a second and lets the
	// first one through, which shows in less than three seconds.
	DefaultTime = 5 * time.Second
	// LeastTime is the minimum time for a meaningful result.
	LeastTime = 3 * time.Second
	// DefaultTolerance is how far above or below the limit a rate still counts as held.
	DefaultTolerance = judge.Tolerance
)

// A Request says what to verify.
type Request struct {
	// Agent is a worker in the groups and on the file system that the limits are for.
	Agent *agent.Agent
	// Device is the device on which the limits were set; FS is where the kernel shows it.
	Device device.Device
	FS     device.FS
	// Members is the number of devices, Device included, over which the file system spreads its data; the limits apply
	// to each. 0: the data is on one device.
	Members int
	// Group is the worker's I/O group, to which the limits apply. RootGroup is the root group if version 1 has the
	// controller. They distinguish the worker's I/O from that of others; nil: it is not distinguished.
	Group, RootGroup *hierarchy.Group
	// OtherGroups are the target's other groups with version 1, which limits each by itself. Group is not among them.
	OtherGroups []*hierarchy.Group
	// OneGroup says that all processes of the target are in one group, so there is no I/O of several groups to add up.
	OneGroup bool
	// Asked holds the limits to test, in bytes or I/Os per second. Under holds the kernel's limits, if they differ;
	// nil: they are the same.
	Asked, Under map[limit.Key]int64
	// Free is how many bytes of scratch space small writes may be spread over; their file is twice as large as what
	// they write. 0: as many as they need. It does not affect the other tests.
	Free int64
	// Used is how much of each limit the target itself used before the rows, as returned by Busy.
	Used map[limit.Key]float64
	// Modes are the modes to test for each limit. A mode that says nothing about a limit yields a row that says so.
	// nil: all modes that say something about it.
	Modes []Mode
	// Time is how long each row is measured, 0: DefaultTime. Tolerance is a share of the limit, 0: DefaultTolerance.
	Time      time.Duration
	Tolerance float64
	// Changed, if set, reports whether the kernel's limit of a row has changed since Asked was read, and what it is
	// now, 0 for none. It is called repeatedly while a row is measured.
	Changed func(limit.Key, Mode) (now int64, changed bool)
	// Look, if set, is called at the same interval, never concurrently.
	Look func()
	// OnRow, if set, receives each row when it is done.
	OnRow func(Row)
	// before is what was charged to the group before the worker did anything; nil: unknown.
	before *count
}

// Run measures a row for each limit and mode. A row that could not be measured contains its error. Run itself returns
// an error only if the worker is gone or ctx is done.
func Run(ctx context.Context, r Request) ([]Row, error) {
	if r.Time == 0 {
		r.Time = DefaultTime
	}
	if r.Tolerance == 0 {
		r.Tolerance = DefaultTolerance
	}
	if c := r.charges(nil, count{}); c != nil {
		r.before = &c.group
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

// wants reports whether a mode was asked for.
func (r Request) wants(mode Mode) bool { return r.Modes == nil || slices.Contains(r.Modes, mode) }

// tries reports whether a mode says something about a limit: all modes do for writes, but reads have no sync.
func tries(key limit.Key, mode Mode) bool {
	return key.Writes() || mode == Direct || mode == Buffered
}

// pairs calls f for each limit and mode to test.
func (r Request) pairs(f func(limit.Key, Mode)) {
	for _, key := range keys {
		for _, mode := range Modes {
			if r.Asked[key] > 0 && r.wants(mode) && tries(key, mode) {
				f(key, mode)
			}
		}
	}
}

// Rows returns the number of rows to measure. Modes that say nothing about a limit don't count.
func (r Request) Rows() int {
	n := 0
	r.pairs(func(limit.Key, Mode) { n++ })
	return n
}

// Room returns the number of bytes of scratch space that the request's largest file takes.
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
	m.tolerance, m.busy, m.oneGroup, m.before = r.Tolerance, r.Used[key] > 0, r.OneGroup, r.before
	row.judge(m)
	return row, nil
}

// A measured is the measurement of one job.
type measured struct {
	result *workload.Result
	// samples are what the device did by its own counters, as seen from outside.
	samples []sample
	// tolerance is a share of the limit; 0: judge.Tolerance.
	tolerance float64
	// busy says that the target itself used the limit before.
	busy bool
	// oneGroup says that its processes are in one group only.
	oneGroup bool
	// before is Request.before.
	before *count
	// device is the limited device's part of the result; nil if it did nothing.
	device *workload.DiskDelta
	// flushing is when the flusher was ordered to write back the rest of the page cache, and flushed when it had finished;
	// 0 if nothing was left there.
	flushing, flushed time.Duration
}

// trialID is the id of the trials: a worker has one at a time.
const trialID = "verify"

// measure writes the job's file, does the job, and follows the device in the meantime.
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
		if d := &res.Disks[i]; d.Number == r.Device.Number {
			m.device = d
		}
	}
	return m, nil
}
