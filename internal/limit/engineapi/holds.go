package engineapi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/device"
	"plimsoll/internal/dockerapi"
	"plimsoll/internal/limit/target"
)

// holds fails unless the kernel has the limits of devices in the running container's group: an
// engine says yes, and its runtime may do nothing. Of a daemon elsewhere it can't be told.
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
	have, err := kernelRates(f, t.Groups)
	if err != nil {
		return err
	}
	for _, d := range devices {
		if d.Major == 0 {
			d.Major, d.Minor, _ = device.BlockNode(d.Path)
		}
		for name, rate := range map[string]uint64{"rbps": d.ReadBPS, "wbps": d.WriteBPS, "riops": d.ReadIOPS, "wiops": d.WriteIOPS} {
			if rate != 0 && have[fmt.Sprintf("%d:%d %s", d.Major, d.Minor, name)] != rate {
				return &UnsupportedError{
					What: strings.Join(Limits{Devices: []Device{d}}.Words(), ", "),
					Why:  a.title() + " says yes, and its runtime does not do it",
					Fix:  "set it in the container's control group, or upgrade the runtime (runc 1.4)",
				}
			}
		}
	}
	return nil
}

// throttleFiles are version 1's files of rates, by version 2's names of them
// (Documentation/admin-guide/cgroup-v1/blkio-controller.rst and cgroup-v2.rst, io.max).
var throttleFiles = map[string]string{
	"rbps": "blkio.throttle.read_bps_device", "wbps": "blkio.throttle.write_bps_device",
	"riops": "blkio.throttle.read_iops_device", "wiops": "blkio.throttle.write_iops_device",
}

// kernelRates reads the rates that groups have: "254:0 wbps" is 10485760.
func kernelRates(f *target.Finder, groups []target.Group) (map[string]uint64, error) {
	rates := map[string]uint64{}
	note := func(device, name, value string) {
		if n, err := strconv.ParseUint(value, 10, 64); err == nil {
			rates[device+" "+name] = n
		}
	}
	read := func(g target.Group, file string) ([]string, error) {
		dir, err := f.Folder(g)
		if err != nil {
			return nil, err
		}
		b, err := os.ReadFile(filepath.Join(dir, file))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return strings.Split(strings.TrimSpace(string(b)), "\n"), err
	}
	for _, g := range groups {
		switch {
		case g.Version == 2:
			lines, err := read(g, "io.max")
			if err != nil {
				return nil, err
			}
			for _, l := range lines {
				f := strings.Fields(l)
				for _, kv := range f[min(1, len(f)):] {
					k, v, _ := strings.Cut(kv, "=")
					note(f[0], k, v)
				}
			}
		case slices.Contains(g.Controllers, "blkio"):
			for name, file := range throttleFiles {
				lines, err := read(g, file)
				if err != nil {
					return nil, err
				}
				for _, l := range lines {
					if f := strings.Fields(l); len(f) == 2 {
						note(f[0], name, f[1])
					}
				}
			}
		}
	}
	return rates, nil
}
