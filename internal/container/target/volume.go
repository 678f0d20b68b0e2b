package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/volume"
	"github.com/moby/moby/client"

	"plimsoll/internal/host/device"
)

// A volumeSource is a source with volumes.
type volumeSource interface {
	source
	// findVolume returns the volume of that name, without its users; nil if there is none.
	findVolume(ctx context.Context, name string) (*Target, error)
}

var (
	_ volumeSource = (*daemon)(nil)
	_ volumeSource = (*storage)(nil)
)

// volume finds the target of volume:NAME.
func (f *Finder) volume(ctx context.Context, r Ref) (Target, error) {
	var sources []source
	for _, s := range f.asked(r) {
		if _, ok := s.(volumeSource); ok {
			sources = append(sources, s)
		}
	}
	answers := ask(ctx, sources, func(ctx context.Context, s source) ([]Target, error) {
		v, err := s.(volumeSource).findVolume(ctx, r.Name)
		if v == nil || err != nil || r.Engine != "" && v.Engine != r.Engine {
			return nil, err
		}
		return []Target{*v}, nil
	})
	var found []Target
	for _, a := range answers {
		for _, v := range a.targets {
			if !slices.ContainsFunc(found, func(o Target) bool { return sameVolume(o, v) }) {
				found = append(found, v)
			}
		}
	}
	switch len(found) {
	case 0:
		return Target{}, f.notFound(ctx, r, answers)
	case 1:
	default:
		return Target{}, &AmbiguousError{Ref: r, Candidates: found}
	}
	v := found[0]
	running, err := f.List(ctx)
	if err != nil {
		v.Notes = append(v.Notes, "there may be more containers with it: "+err.Error())
	}
	for _, c := range running {
		if slices.ContainsFunc(c.Mounts, func(m Mount) bool {
			named := m.Volume == v.Name && c.Engine == v.Engine
			sameFolder := v.Elsewhere == "" && m.Source != "" && m.Source == v.Mounts[0].Source
			return named || sameFolder
		}) {
			v.Users = append(v.Users, c)
		}
	}
	return v, nil
}

// sameVolume reports whether two sources describe one volume.
func sameVolume(a, b Target) bool {
	return a.Engine == b.Engine && a.Elsewhere == b.Elsewhere && a.Mounts[0].Source == b.Mounts[0].Source
}

// findVolume implements volumeSource.
func (d *daemon) findVolume(ctx context.Context, name string) (*Target, error) {
	api, is, err := d.connect(ctx, false)
	if err != nil {
		return nil, err
	}
	res, err := api.VolumeInspect(ctx, name, client.VolumeInspectOptions{})
	if cerrdefs.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, d.failed(ctx, err)
	}
	v := res.Volume
	t := &Target{
		Kind: Volume, Engine: engineOf(is), Name: v.Name, Labels: v.Labels, Running: true, State: "there",
		Host: d.address.Host, OS: is.OS, Elsewhere: is.Elsewhere,
		Mounts: []Mount{{Source: v.Mountpoint, Volume: v.Name, Driver: v.Driver}},
	}
	switch {
	case t.Elsewhere != "":
	case v.Mountpoint == "":
		t.Notes = append(t.Notes, fmt.Sprintf("the driver %s shows the volume's folder only while a container has it mounted", v.Driver))
	default:
		if t.Mounts[0].Later = d.f.later(v); t.Mounts[0].Later != "" {
			t.Notes = append(t.Notes, "no container has it mounted: its data is on "+t.Mounts[0].Later)
		}
	}
	return t, nil
}

// later returns Mount.Later for a volume of this machine. The driver local mounts the device or folder in the volume's options
// (https://docs.docker.com/reference/cli/docker/volume/create/#opt) on the volume's folder while a container has the volume. At
// other times the folder is empty, and on the disk of the engine's own data.
func (f *Finder) later(v volume.Volume) string {
	of, kind := v.Options["device"], v.Options["type"]
	if of == "" {
		return ""
	}
	mounts, err := device.FS{Proc: f.opt.Proc}.Mounts()
	if err != nil || slices.ContainsFunc(mounts, func(m device.Mount) bool { return m.Point == v.Mountpoint }) {
		return ""
	}
	if _, block := device.BlockNode(of); block || filepath.IsAbs(of) && bound(kind, v.Options["o"]) {
		return of
	}
	return kind + ":" + of
}

// bound reports whether options of mount(8) make a bind mount.
func bound(kind, options string) bool {
	o := strings.Split(options, ",")
	return (kind == "" || kind == "none") && (slices.Contains(o, "bind") || slices.Contains(o, "rbind"))
}

// findVolume implements volumeSource: Podman keeps volumes of the driver local below Graph.
func (s *storage) findVolume(_ context.Context, name string) (*Target, error) {
	dir := filepath.Join(s.at.Graph, "volumes", name, "_data")
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Stat(s.at.Graph); err != nil {
			return nil, s.unreadable(err)
		}
		return nil, nil
	case err != nil:
		return nil, s.unreadable(err)
	case !st.IsDir():
		return nil, nil
	}
	return &Target{Kind: Volume, Engine: Podman, Name: name, Running: true, State: "there", Mounts: []Mount{{Source: dir, Volume: name, Driver: "local"}}}, nil
}
