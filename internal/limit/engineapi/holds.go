package engineapi

import (
	"context"
	"errors"
	"strings"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/text/refusal"
)

// holds fails unless the kernel has the limits of devices in the running container's group: the
// engine may accept a limit that its runtime ignores. For a daemon elsewhere that can't be checked.
func (a *API) holds(ctx context.Context, id string, devices []Device) error {
	if a.daemon.Elsewhere != "" {
		return nil
	}
	f := target.New(target.Options{Daemons: []dockerapi.Address{a.address}})
	defer f.Close()
	t, err := f.Resolve(ctx, target.Ref{Kind: target.Container, Name: id})
	var idle *target.NotRunningError
	if errors.As(err, &idle) {
		return nil
	}
	if err != nil {
		return err
	}
	d, err := lacks(device.Host(), t, devices)
	if err != nil || d == nil {
		return err
	}
	return &refusal.Error{
		What: strings.Join(Resources{Devices: []Device{*d}}.Words(), ", "),
		Why:  a.title() + " accepts it, but its runtime does not apply it",
		Fix:  "set it in the container's control group, or upgrade the runtime (runc 1.4)",
	}
}

// lacks returns the first device on which the container's group doesn't have the rate that it should; nil if there is none.
func lacks(fs device.FS, t target.Target, devices []Device) (*Device, error) {
	host, err := cgroup.Open(fs)
	if err != nil {
		return nil, err
	}
	groups, err := host.Find(t.PID, t.ID, t.CgroupsPath())
	if err != nil {
		return nil, err
	}
	states, err := host.Read(groups)
	if err != nil {
		return nil, err
	}
	for i, d := range devices {
		if d.Number.Major == 0 {
			d.Number, _ = device.BlockNode(d.Path)
		}
		has := states[0].Devices[d.Number]
		for _, x := range []struct {
			want uint64
			now  int64
		}{{d.ReadBPS, has.ReadBPS}, {d.WriteBPS, has.WriteBPS}, {d.ReadIOPS, has.ReadIOPS}, {d.WriteIOPS, has.WriteIOPS}} {
			if x.want != 0 && x.want != uint64(x.now) {
				return &devices[i], nil
			}
		}
	}
	return nil, nil
}
