package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/docker"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/verify"
	"plimsoll/internal/measure/workerbin"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/size"
)

// verifyProbe tries limits in a container that it makes for it, with the volume that was named.
func (a *app) verifyProbe(ctx context.Context, l *limiter, name string, f limitVerifyFlags, ask limit.Ask, r verify.Request) (_ []verified, err error) {
	t, volume, err := l.probed(ctx, name, f.limitWhere)
	if err != nil {
		return nil, err
	}
	e := docker.NewDocker(docker.DockerOptions{Host: t.Host, Env: a.env, StateDir: a.stateDir, Worker: workerbin.Bytes})
	session, err := e.Open(ctx, engine.Spec{ID: "verify-" + scratchID(), Place: place.Spec{Name: "volume " + volume, Kind: place.Volume}, Volume: volume})
	if err != nil {
		return nil, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(a.hardContext(), time.Minute)
		defer cancel()
		err = errors.Join(err, session.Close(closing))
	}()
	if r.Agent, err = agent.Open(ctx, session); err != nil {
		return nil, fmt.Errorf("the probe container: %w", err)
	}
	info := r.Agent.Info()
	if info.PID == 0 || info.HostPath == "" {
		return nil, &hold.ImpossibleError{What: "volume " + volume, Why: "the daemon's containers do not run on this machine, or it shows no folder of the volume", Instead: "run plimsoll there"}
	}
	// Only now that a container has it, it is mounted.
	x, err := l.Explain.Path(info.HostPath)
	if err != nil {
		return nil, err
	}
	if !x.Possible {
		return nil, &hold.ImpossibleError{What: "volume " + volume, Why: x.Why, Instead: x.Instead}
	}
	groups, err := l.Groups.Find(info.PID, info.Container, "")
	if err != nil {
		return nil, fmt.Errorf("the probe container: %w", err)
	}
	s := &hold.Scope{Target: t, Grounds: []hold.Ground{{Name: "volume " + volume, Path: info.HostPath, Explanation: x}}}
	change, err := a.resolved(ask, s)
	if err != nil {
		return nil, err
	}
	var all []verified
	for _, d := range s.Devices() {
		if d.ReadsOnly {
			continue
		}
		done := verified{Part: "a probe container", Ground: s.Grounds[0].Name, Device: d.Name, number: d.Number()}
		v := verification{ground: s.Grounds[0], spot: d, asked: map[limit.Key]int64{}, again: again(name, f.limitWhere), state: a.stateFlag()}
		v.part.Name, done.members = done.Part, v.members()
		done.Rows, err = a.verifyProbed(ctx, l, t, groups, v, change.Set, info, r)
		done.ended(err)
		all = append(all, done)
		if !f.json {
			err = errors.Join(err, a.tellRows(done))
		}
		if err != nil {
			break
		}
	}
	return all, err
}

// probed is the volume that a target and the flags name, and the target that has it.
func (l *limiter) probed(ctx context.Context, name string, where limitWhere) (t target.Target, volume string, err error) {
	ref, err := target.Parse(name)
	if err != nil {
		return t, "", &exitError{exitUsage, err}
	}
	if t, err = l.finder.Resolve(ctx, ref); err != nil {
		return t, "", err
	}
	switch {
	case t.Kind == target.Volume:
		volume = t.Name
	case t.Kind != target.Container || where.Volume == "":
		return t, "", usageError("--probe tries a volume: name one (volume:NAME), or a container with --volume NAME")
	default:
		for _, m := range t.Mounts {
			if m.Volume == where.Volume {
				volume = m.Volume
			}
		}
		if volume == "" {
			return t, "", fmt.Errorf("%s has no volume %s", t.Ref(), where.Volume)
		}
	}
	if t.Elsewhere != "" {
		return t, "", &hold.ImpossibleError{What: t.Ref(), Why: t.Elsewhere, Instead: "run plimsoll there"}
	}
	if t.Host == "" {
		return t, "", &hold.ImpossibleError{What: t.Ref(), Why: "a probe container is made by the API of Docker or Podman, and " + string(t.Engine) + "'s could not be asked", Instead: "start a container with the volume, and name that"}
	}
	return t, volume, nil
}

// verifyProbed gives the probe container the limits that are to be tried on a device, and tries them: those that were
// named, or those of the container that it stands for; and those of the device itself, for all groups.
func (a *app) verifyProbed(ctx context.Context, l *limiter, t target.Target, groups *cgroup.Target, v verification, named limit.Limits, info engine.Info, r verify.Request) ([]verify.Row, error) {
	d := v.spot
	n := d.Number()
	v.inRoot = l.RootLimits()[n]
	own := named
	if own.IsZero() && t.Kind == target.Container {
		has, err := l.Groups.Find(t.PID, t.ID, t.CgroupsPath())
		if err != nil {
			return nil, err
		}
		states, err := l.Groups.Read(has)
		if err != nil {
			return nil, err
		}
		own = states[0].Devices[n]
	}
	own = limit.Limits{ReadBPS: own.ReadBPS, WriteBPS: own.WriteBPS, ReadIOPS: own.ReadIOPS, WriteIOPS: own.WriteIOPS}
	v.inGroup = own
	r.Under = tightest(own, v.inRoot)
	if r.Asked = r.Under; !named.IsZero() {
		r.Asked = tightest(own)
	}
	v.asked, v.under = r.Asked, r.Under
	if len(r.Asked) == 0 {
		return nil, &hold.ImpossibleError{What: t.Ref(), Why: "there is no limit on I/O that could be tried", Instead: "name one, such as --write-bps 10MiB"}
	}
	if !own.IsZero() {
		if _, err := l.Groups.Hold(groups, cgroup.Want{Change: limit.Change{Set: own}, Devices: []device.Number{n}}); err != nil {
			return nil, err
		}
	}
	disk, err := l.FS.Disk(d.Number())
	if err != nil {
		return nil, err
	}
	r.FS, r.Device = l.FS, *disk
	if err := room(engine.Inside{Root: "/", Dir: info.HostPath}, &r); err != nil {
		return nil, err
	}
	if err := tooSlow(t.Ref(), r); err != nil {
		return nil, err
	}
	if r.Group, err = groups.Group(hierarchy.IO); err != nil {
		return nil, err
	}
	r.Nobody = l.nobody()
	fmt.Fprintf(a.stderr, "%s in a container made for it, with %s, about %s\n", trying(r), clean.Line(t.Ref()), size.Duration(r.Lasts()))
	rows, err := verify.Run(ctx, r)
	v.explain(rows)
	return rows, err
}
