package cgroup

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
)

const (
	cpuMax    = "cpu.max"
	cfsQuota  = "cpu.cfs_quota_us"
	cfsPeriod = "cpu.cfs_period_us"
)

// A quota is how long a group may run in each period, in microseconds. quota is -1 for no limit.
type quota struct{ quota, period int64 }

// cpus is the number of CPUs, 0 for no limit.
func (q quota) cpus() float64 { return limit.CPUsOf(q.quota, q.period) }

// of is the quota for a number of CPUs (0: no limit). It keeps the period if the kernel accepts that.
func (q quota) of(cpus float64) quota {
	if cpus == 0 {
		return quota{-1, q.period}
	}
	n, period := limit.CPUQuota(cpus, q.period)
	return quota{n, period}
}

// cpus plans the quota.
func (p *planner) cpus(g *hierarchy.Group, keys []limit.Key) error {
	now, err := p.quota(g)
	if err != nil {
		return p.absent(g, quotaFile(g), err, keys)
	}
	want := now.of(p.want.Change.Set.CPUs)
	if want == now {
		p.diff.Held++
		return nil
	}
	if g.Version == 2 {
		p.edit(g, cpuMax, device.Number{}, keys, []string{want.text()}, []string{now.text()})
		return nil
	}
	if want.period != now.period {
		p.edit(g, cfsPeriod, device.Number{}, keys, []string{strconv.FormatInt(want.period, 10)}, []string{strconv.FormatInt(now.period, 10)})
	}
	p.edit(g, cfsQuota, device.Number{}, keys, []string{strconv.FormatInt(want.quota, 10)}, []string{strconv.FormatInt(now.quota, 10)})
	return nil
}

func quotaFile(g *hierarchy.Group) string {
	if g.Version == 2 {
		return cpuMax
	}
	return cfsQuota
}

// text is q in the format of cpu.max.
func (q quota) text() string {
	if q.quota < 0 {
		return fmt.Sprintf("max %d", q.period)
	}
	return fmt.Sprintf("%d %d", q.quota, q.period)
}

// quota reads the quota of a group.
func (p *planner) quota(g *hierarchy.Group) (quota, error) {
	b, err := p.read(g, quotaFile(g))
	if err != nil {
		return quota{}, err
	}
	text := strings.TrimSpace(string(b))
	if g.Version == 1 {
		b, err := p.read(g, cfsPeriod)
		if err != nil {
			return quota{}, err
		}
		text += " " + strings.TrimSpace(string(b))
	}
	q, err := parseQuota(text)
	if err != nil {
		return quota{}, fmt.Errorf("%s: %w", filepath.Join(g.Dir, quotaFile(g)), err)
	}
	return q, nil
}

// parseQuota reads "150000 100000", where the first may be "max" (version 2) or -1 (version 1).
func parseQuota(text string) (quota, error) {
	f := strings.Fields(text)
	if len(f) != 2 {
		return quota{}, fmt.Errorf("%q is not a quota and period", text)
	}
	period, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil || period <= 0 {
		return quota{}, fmt.Errorf("%q is not a quota and period", text)
	}
	if f[0] == "max" || f[0] == "-1" {
		return quota{-1, period}, nil
	}
	n, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil || n < 0 {
		return quota{}, fmt.Errorf("%q is not a quota and period", text)
	}
	return quota{n, period}, nil
}

// conflict explains EINVAL for a quota: in version 1 a group can't have more than the group above it
// (tg_cfs_schedulable_down in kernel/sched/core.c).
func (h *Host) conflict(f *Fault, e *Edit) {
	asked, err := strconv.ParseInt(f.Text, 10, 64)
	if e.group == nil || filepath.Base(e.File) != cfsQuota || err != nil {
		return
	}
	p := planner{host: h, buf: &[]byte{}}
	own, err := p.quota(e.group)
	if err != nil {
		return
	}
	want := quota{asked, own.period}.cpus()
	has := func(g *hierarchy.Group) float64 {
		q, err := p.quota(g)
		if err != nil {
			return 0
		}
		return q.cpus()
	}
	for a := e.group.Parent(); a != nil; a = a.Parent() {
		if n := has(a); n > 0 && n < want {
			f.Why = fmt.Sprintf("the group above, %s, has %.2f CPUs, and version 1 lets none below it have more", a.Path, n)
			f.Fix = fmt.Sprintf("ask for %.2f at most", math.Floor(n*100)/100)
			return
		}
	}
	below, err := h.leaves(e.group)
	if err != nil {
		return
	}
	for _, b := range below[1:] {
		if n := has(b); n > want {
			f.Why = fmt.Sprintf("the group below, %s, has %.2f CPUs, and version 1 lets none have more than the one above it", b.Path, n)
			f.Fix = "lower that one first"
			return
		}
	}
}

func sharesFile(g *hierarchy.Group) string {
	if g.Version == 2 {
		return "cpu.weight"
	}
	return "cpu.shares"
}

// shares plans the weight on busy CPUs.
func (p *planner) shares(g *hierarchy.Group, keys []limit.Key) error {
	file, want := sharesFile(g), p.want.Change.Set.CPUShares
	if want == 0 {
		want = limit.DefaultCPUShares
	}
	if g.Version == 2 {
		w, exact := limit.CPUWeight(want)
		if want = w; !exact {
			p.note("%d CPU shares are a cpu.weight of %d, the nearest that there is: %d shares", p.want.Change.Set.CPUShares, want, limit.CPUSharesOf(want))
		}
	}
	b, err := p.read(g, file)
	if err != nil {
		return p.absent(g, file, err, keys)
	}
	now := strings.TrimSpace(string(b))
	if text := strconv.FormatInt(want, 10); text != now {
		p.edit(g, file, device.Number{}, keys, []string{text}, []string{now})
	} else {
		p.diff.Held++
	}
	return nil
}
