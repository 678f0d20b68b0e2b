package verify

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/docker"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/size"
	"plimsoll/internal/text/usage"
)

// probed returns the volume that a command refers to, and the target that has it.
func (p *Verifier) probed(ctx context.Context, c Command) (t target.Target, volume string, err error) {
	if t, err = p.Finder.Resolve(ctx, c.Target); err != nil {
		return t, "", err
	}
	switch {
	case t.Kind == target.Volume:
		volume = t.Name
	case t.Kind != target.Container || c.Where.Volume == "":
		return t, "", usage.Errorf("--probe tries a volume: name one (volume:NAME), or a container with --volume NAME")
	default:
		for _, m := range t.Mounts {
			if m.Volume == c.Where.Volume {
				volume = m.Volume
			}
		}
		if volume == "" {
			return t, "", fmt.Errorf("%s has no volume %s", t.Ref(), c.Where.Volume)
		}
	}
	if t.Elsewhere != "" {
		return t, "", &refusal.Error{Act: refusal.Limited, What: t.Ref(), Why: t.Elsewhere, Fix: "run plimsoll there"}
	}
	if t.Host == "" {
		return t, "", &refusal.Error{Act: refusal.Limited, What: t.Ref(), Why: "a probe container is made by the API of Docker or Podman, and " + string(t.Engine) + "'s could not be asked", Fix: "start a container with the volume, and name that"}
	}
	return t, volume, nil
}

// probe tests limits on a volume in a container that it creates for the purpose: the limits that were named, or those
// of the target.
func (p *Verifier) probe(ctx context.Context, c Command) (_ []Result, err error) {
	t, volume, err := p.probed(ctx, c)
	if err != nil {
		return nil, err
	}
	r := c.Request
	e := docker.New(docker.Options{Host: t.Host, Env: p.Env, StateDir: p.State, Worker: p.Worker})
	session, err := e.Open(ctx, engine.Spec{ID: "verify-" + scratchID(), Place: place.Spec{Name: "volume " + volume, Kind: place.Volume}, Volume: volume})
	if err != nil {
		return nil, err
	}
	defer p.close(session, &err)
	if r.Agent, err = agent.Open(ctx, session); err != nil {
		return nil, fmt.Errorf("the probe container: %w", err)
	}
	info := r.Agent.Info()
	if info.PID == 0 || info.HostPath == "" {
		return nil, &refusal.Error{Act: refusal.Limited, What: "volume " + volume, Why: "the daemon's containers do not run on this machine, or it shows no folder of the volume", Fix: "run plimsoll there"}
	}
	// The volume is mounted only now that a container has it.
	x, err := p.Explain.Path(info.HostPath)
	if err != nil {
		return nil, err
	}
	if !x.Possible {
		return nil, &refusal.Error{Act: refusal.Limited, What: "volume " + volume, Why: x.Why, Fix: x.Instead}
	}
	groups, err := p.Groups.Find(info.PID, info.Container, "")
	if err != nil {
		return nil, fmt.Errorf("the probe container: %w", err)
	}
	s := &hold.Scope{Target: t, Places: []hold.Place{{Name: "volume " + volume, Path: info.HostPath, Explanation: x}}}
	asked, err := c.Named(s)
	if err != nil {
		return nil, err
	}
	var all []Result
	for _, d := range s.Devices() {
		if d.ReadsOnly {
			continue
		}
		done := Result{GroupSet: "a probe container", Place: s.Places[0].Name, Device: d.Name, number: d.Number}
		v := subject{place: s.Places[0], spot: d, asked: map[limit.Key]int64{}, Words: p.Words}
		v.groupSet.Name, done.members = done.GroupSet, v.members()
		done.Rows, err = p.probeDevice(ctx, t, groups, v, asked, info, r)
		done.ended(err)
		all = append(all, done)
		if err = errors.Join(err, c.Show(done)); err != nil {
			break
		}
	}
	return all, err
}

// probeDevice sets the limits to test on a device in the probe container, and tests them: the limits that were named,
// or those of the container that it represents. It also tests those of the device itself, which apply to all groups.
func (p *Verifier) probeDevice(ctx context.Context, t target.Target, groups *cgroup.Target, v subject, named limit.Limits, info engine.Info, r row.Request) ([]row.Row, error) {
	d := v.spot
	n := d.Number
	v.inRoot = p.RootLimits()[n]
	own := named
	if own.IsZero() && t.Kind == target.Container {
		has, err := p.Groups.Find(t.PID, t.ID, t.CgroupsPath())
		if err != nil {
			return nil, err
		}
		states, err := p.Groups.Read(has)
		if err != nil {
			return nil, err
		}
		own = states[0].Devices[n]
	}
	own = limit.Limits{ReadBPS: own.ReadBPS, WriteBPS: own.WriteBPS, ReadIOPS: own.ReadIOPS, WriteIOPS: own.WriteIOPS}
	v.inGroup = own
	v.under = tightest(own, v.inRoot)
	if v.asked = v.under; !named.IsZero() {
		v.asked = tightest(own)
	}
	if len(v.asked) == 0 {
		return nil, &refusal.Error{Act: refusal.Limited, What: t.Ref(), Why: "there is no limit on I/O that could be tried", Fix: "name one, such as --write-bps 10MiB"}
	}
	if !own.IsZero() {
		// This doesn't go through package hold: the container was made for the test, so its limits have no other owner, need no
		// record, and end with it.
		if _, err := p.Groups.Hold(groups, cgroup.Want{Change: limit.Change{Set: own}, Devices: []device.Number{n}}); err != nil {
			return nil, err
		}
	}
	if err := p.fill(&r, v, groups); err != nil {
		return nil, err
	}
	if err := fits(t.Ref(), engine.Inside{Root: "/", Dir: info.HostPath}, &r); err != nil {
		return nil, err
	}
	return p.run(ctx, v, r, fmt.Sprintf("in a container made for it, with %s, about %s", clean.Line(t.Ref()), size.Duration(r.Lasts())))
}
