package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/inroot"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/verify"
	"plimsoll/internal/text/size"
)

// verifyScope finds what a command line names, to be tried: the files that it writes are a container's own, or in the folder that
// --path names. only are the numbers of the devices that --device means, empty for all.
func (l *limiter) verifyScope(ctx context.Context, name string, where limitWhere) (s *hold.Scope, only []device.Number, err error) {
	ref, err := target.Parse(name)
	if err != nil {
		return nil, nil, &exitError{exitUsage, err}
	}
	if ref.Kind == target.Cgroup || ref.Kind == target.Unit {
		t, err := l.finder.Resolve(ctx, ref)
		if err != nil {
			return nil, nil, limitError(err)
		}
		if t.PID == 0 && where.Path == "" {
			return nil, nil, usageError("verify writes files, and %s has none of its own: say with --path in which folder of this machine%s", t.Ref(), l.limitedOn(t, where.Device))
		}
	}
	if where.Device != "" {
		on, err := l.scope(ctx, name, where, true)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range on.Devices() {
			only = append(only, d.Number())
		}
		named := where.Device
		where.Device = ""
		if s, err = l.scope(ctx, name, where, true); err != nil {
			return nil, nil, err
		}
		if !slices.ContainsFunc(s.Devices(), func(d explain.Spot) bool { return slices.Contains(only, d.Number()) }) {
			return nil, nil, limitError(&hold.ImpossibleError{Untried: true, What: s.Target.Ref(), Why: "none of its data is on " + named + ", and verify writes files",
				Instead: "name with --path a folder of it that is"})
		}
		return s, only, nil
	}
	s, err = l.scope(ctx, name, where, true)
	return s, nil, err
}

// members counts the devices that the data is on, each of which has the limit.
func (v verification) members() int {
	n := 0
	for _, d := range v.ground.Explanation.Hard {
		if !d.ReadsOnly {
			n++
		}
	}
	return n
}

// limitedOn says on which devices a folder must be for a limit to be tried there.
func (l *limiter) limitedOn(t target.Target, device string) string {
	if device != "" {
		return ", on " + device
	}
	name := t.Name
	if len(t.Groups) > 0 {
		name = t.Groups[0].Path
	}
	groups, err := l.Groups.At(name)
	if err != nil {
		return ""
	}
	states, err := l.Groups.Read(groups)
	if err != nil || len(states) == 0 {
		return ""
	}
	var on []string
	for n := range states[0].Devices {
		name := n.String()
		if d, err := l.FS.Disk(n); err == nil {
			name = fmt.Sprintf("%s (%s)", d.Name, n)
		}
		on = append(on, name)
	}
	if len(on) == 0 {
		return ""
	}
	slices.Sort(on)
	return "; its limits are for " + strings.Join(on, ", ")
}

// scratchID tells this process's scratch folders from others'.
func scratchID() string { return fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano()) }

// room refuses where a scratch file as large as r needs would leave little. r is told how much there is.
func room(in engine.Inside, r *verify.Request) error {
	free, err := inroot.Free(in.Root, in.Dir)
	if err != nil {
		return err
	}
	r.Free = max(free/2, 1)
	return roomIn(in.Dir, free, r.Room())
}

// roomIn is room where so many bytes are free.
func roomIn(dir string, free, need int64) error {
	// Whoever uses the file system goes on writing meanwhile.
	if free < 2*need {
		return &hold.ImpossibleError{Untried: true, What: dir, Why: fmt.Sprintf("the scratch file takes %s, and twice that must be free, because others go on writing: %s are", size.Bytes(need), size.Bytes(free)),
			Instead: "free some, name another --path, or take less --time"}
	}
	return nil
}

// tooSlow refuses limits on writes under which the scratch file alone would take too long.
func tooSlow(what string, r verify.Request) error {
	if t := r.LayOut(); t > verify.MostLayOut {
		return &hold.ImpossibleError{Untried: true, What: what, Why: fmt.Sprintf("under its limit on writes the scratch file of %s takes %s to be written", size.Bytes(r.Room()), size.Duration(t)),
			Instead: "try it with a greater limit on writes"}
	}
	return nil
}
