package show

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/usage"
)

// Explain explains paths, and the data of targets, on the machine that host shows. A name that is not a path is a
// target. Explain calls holder only for targets, and closes the result.
func Explain(ctx context.Context, host device.FS, names []string, holder func() (*hold.Holder, error)) (*explain.Answer, error) {
	h, err := explain.Look(host)
	if err != nil {
		return nil, unexplained(err)
	}
	out := &explain.Answer{Host: h}
	for _, name := range names {
		if name == "" {
			return nil, usage.Errorf("a path is empty: name the folder of a volume, a file or a block device")
		}
		list, err := explainOne(ctx, h, name, holder)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if err := hold.Empty(host, e.Hard); err != nil {
				return nil, err
			}
		}
		out.Paths = append(out.Paths, list...)
	}
	out.Shared = explain.Sharing(out.Paths)
	return out, nil
}

// unexplained is the error of a machine that can't be looked at: a refusal if it isn't Linux.
func unexplained(err error) error {
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return &refusal.Error{What: "limits on I/O", Why: "they are Linux's, and this is not Linux", Fix: "ask inside the virtual machine where the containers run"}
}

// explainOne explains a path that exists, or else the data of a target.
func explainOne(ctx context.Context, h *explain.Host, name string, holder func() (*hold.Holder, error)) ([]*explain.Explanation, error) {
	_, err := os.Stat(name)
	if err == nil {
		e, err := h.Path(name)
		return []*explain.Explanation{e}, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ref, bad := target.Parse(name)
	if kind, _, ok := strings.Cut(name, ":"); bad != nil && ok && !strings.Contains(kind, "/") {
		return nil, &usage.Error{Err: bad}
	}
	if bad != nil {
		return nil, usage.Errorf("%s does not exist: name the folder of a volume, a file, a block device, a container or volume:NAME", name)
	}
	l, err := holder()
	if err != nil {
		return nil, err
	}
	defer l.Finder.Close()
	t, err := l.Finder.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	return explainTarget(l, t)
}

// explainTarget explains the data of a target.
func explainTarget(l *hold.Holder, t target.Target) (list []*explain.Explanation, err error) {
	if t.Kind == target.Volume {
		e, err := l.LookVolume(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Ref(), err)
		}
		e.Path = t.Ref() + ", " + e.Path
		return []*explain.Explanation{e}, nil
	}
	s, err := l.Look(t)
	if err != nil {
		return nil, err
	}
	if len(s.Places) == 0 {
		return nil, refusal.New(strings.Join(append([]string{t.Ref()}, s.Notes...), ": ") + " has no known files of its own: name a path")
	}
	for _, g := range s.Places {
		g.Explanation.Path = t.Ref() + ", " + g.Name
		if g.Path != "" && g.Path != g.Name {
			g.Explanation.Path += " (" + g.Path + ")"
		}
		list = append(list, g.Explanation)
	}
	return list, nil
}
