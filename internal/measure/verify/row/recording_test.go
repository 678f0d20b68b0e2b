package row

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// A Recording is what was measured of one row on a real disk, without the verdict. Amounts are what the row's key limits, bytes or I/Os;
// times are in microseconds.
type Recording struct {
	// Origin is the set-up in words, Want the verdict that it calls for.
	Origin string        `json:"origin"`
	Want   judge.Verdict `json:"want"`
	Key    limit.Key     `json:"key"`
	Mode   Mode          `json:"mode"`
	BS     int64         `json:"bs"`
	Asked  int64         `json:"asked"`
	// Members is Request's.
	Members  int   `json:"members,omitempty"`
	Elapsed  int64 `json:"elapsed"`
	Flushing int64 `json:"flushing,omitempty"`
	Flushed  int64 `json:"flushed,omitempty"`
	// Came is what came to the device by the worker's own counters; nil if it did nothing.
	Came *int64 `json:"came"`
	// App has the end of each interval, and what the application did in it.
	App [][2]int64 `json:"app"`
	// Device has a time and the totals by then: the device's, and, if the kernel counted them, the charges to the group, to the root group,
	// to the target's other groups, and to others. -1: not counted.
	Device [][]int64 `json:"device"`
}

// Record measures a row for a recording.
func (r Request) Record(ctx context.Context, key limit.Key, mode Mode, origin string) (*Recording, error) {
	job := r.job(key, mode)
	m, err := r.measure(ctx, job, mode)
	if err != nil {
		return nil, err
	}
	rec := Recording{
		Origin: origin, Key: key, Mode: mode, BS: job.BS, Asked: r.Asked[key], Members: r.Members,
		Elapsed: m.result.Elapsed.Microseconds(), Flushing: m.flushing.Microseconds(), Flushed: m.flushed.Microseconds(),
	}
	row := Row{Finding: judge.Finding{Key: key}}
	amount := func(n count) int64 { return int64(row.amount(n)) }
	if d := m.device; d != nil {
		n := amount(count{d.Reads, d.Writes, d.ReadBytes, d.WrittenBytes})
		rec.Came = &n
	}
	for _, s := range m.result.Samples {
		n := s.Bytes
		if key.IOPS() {
			n = s.Ops
		}
		rec.App = append(rec.App, [2]int64{s.At.Microseconds(), n})
	}
	for _, s := range m.samples {
		at := []int64{s.at.Microseconds(), amount(s.count)}
		if c := s.charged; c != nil {
			root, others := int64(-1), int64(-1)
			if c.root != nil {
				root = amount(*c.root)
			}
			if c.others != nil {
				others = amount(*c.others)
			}
			at = append(at, amount(c.group), root, amount(c.otherGroups), others)
		}
		rec.Device = append(rec.Device, at)
	}
	return &rec, nil
}

// Judge judges the recording as if it had just been measured.
func (rec Recording) Judge() Row {
	r := Row{Finding: judge.Finding{Key: rec.Key, Asked: float64(rec.Asked), Seen: -1}, Mode: rec.Mode, BS: rec.BS}
	if rec.Members > 1 {
		r.Members = rec.Members
	}
	us := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	of := func(n int64) count { return count{n, n, n, n} }
	m := &measured{result: &workload.Result{Elapsed: us(rec.Elapsed)}, flushing: us(rec.Flushing), flushed: us(rec.Flushed)}
	if n := rec.Came; n != nil {
		m.device = &workload.DiskDelta{Reads: *n, Writes: *n, ReadBytes: *n, WrittenBytes: *n}
	}
	for _, s := range rec.App {
		m.result.Samples = append(m.result.Samples, load.Sample{At: us(s[0]), Ops: s[1], Bytes: s[1]})
	}
	for _, s := range rec.Device {
		at := sample{at: us(s[0]), count: of(s[1])}
		if len(s) > 2 {
			at.charged = &charges{group: of(s[2]), otherGroups: of(s[4])}
			if s[3] >= 0 {
				root := of(s[3])
				at.charged.root = &root
			}
			if s[5] >= 0 {
				others := of(s[5])
				at.charged.others = &others
			}
		}
		m.samples = append(m.samples, at)
	}
	r.judge(m)
	return r
}

// Text is the recording as JSON, a line for each sample.
func (rec Recording) Text() ([]byte, error) {
	b, err := json.Marshal(rec)
	return append(bytes.ReplaceAll(b, []byte("],["), []byte("],\n[")), '\n'), err
}
