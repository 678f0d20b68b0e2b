// Package migrate copies a volume of Docker's driver local to one of Plimsoll, and back.
//
// The copy is compared with its source, file by file, before anything is removed. The source stays unless its removal was asked for.
//
// Easily got wrong: a program that writes meanwhile makes copies that never were. So no container may run with the source, and the
// comparison would find what changed. And a volume of Docker with options is a mount, whose folder is empty while no container has it.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/provide/volume"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/usage"
)

// Options are how a volume is migrated.
type Options struct {
	// Create are the options of a new volume of Plimsoll, as of "docker volume create -o".
	Create map[string]string
	// Remove removes the source after its copy was verified.
	Remove bool
}

// A Migration is between the volumes of a state folder and those of a Docker daemon on this machine.
type Migration struct {
	Volumes *volume.Volumes
	Docker  *client.Client
}

// FromDocker copies the volume from of Docker's driver local to a new volume of Plimsoll.
func (m Migration) FromDocker(ctx context.Context, from, to string, o Options) (v volume.Volume, err error) {
	folder, err := m.folder(ctx, from, true)
	if err != nil {
		return v, err
	}
	if err := m.unused(ctx, from, o.Remove); err != nil {
		return v, err
	}
	where, p, err := m.Volumes.Options(o.Create)
	if err != nil {
		return v, err
	}
	v, err = m.Volumes.CreateWith(ctx, to, where, p, func(ctx context.Context, root string) error { return transfer(ctx, folder, root) })
	if err != nil || !o.Remove {
		return v, err
	}
	if _, err := m.Docker.VolumeRemove(ctx, from, client.VolumeRemoveOptions{}); err != nil {
		return v, fmt.Errorf("volume %s is made and verified, but Docker's volume %s was not removed: %w", to, from, err)
	}
	return v, nil
}

// ToDocker copies a volume of Plimsoll to a new one of Docker's driver local.
func (m Migration) ToDocker(ctx context.Context, from, to string, o Options) (err error) {
	v, err := m.Volumes.Get(from)
	if err != nil {
		return err
	}
	if users, err := m.Volumes.Users(from); err != nil || len(users) > 0 {
		return errors.Join(err, usage.Errorf("volume %s is mounted by %s: stop the containers that use it, or unmount it", from, users[0].ID))
	}
	if _, err := m.folder(ctx, to, false); err != nil {
		return err
	}
	w, err := m.Volumes.View(ctx, from, "")
	if err != nil {
		return err
	}
	err = m.fill(ctx, w.Root, to)
	if err := errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("migrate volume %s: %w", v.Name, err)
	}
	if o.Remove {
		return m.Volumes.Remove(ctx, from, false)
	}
	return nil
}

// fill makes a volume of Docker with a copy of a folder. If that fails, the volume is removed.
func (m Migration) fill(ctx context.Context, root, to string) error {
	made, err := m.Docker.VolumeCreate(ctx, client.VolumeCreateOptions{Name: to, Driver: "local"})
	if err != nil {
		return err
	}
	if err := transfer(ctx, root, made.Volume.Mountpoint); err != nil {
		_, bad := m.Docker.VolumeRemove(context.WithoutCancel(ctx), to, client.VolumeRemoveOptions{})
		return errors.Join(err, bad)
	}
	return nil
}

// folder returns the folder of a volume of Docker's driver local. If it should exist and doesn't, or the other way round, that is an error.
func (m Migration) folder(ctx context.Context, name string, exists bool) (string, error) {
	d, err := dockerapi.Ask(ctx, m.Docker, "")
	if err != nil {
		return "", err
	}
	if d.Elsewhere != "" {
		return "", &refusal.Error{What: "migrating Docker's volume " + name, Why: d.Elsewhere, Fix: "run plimsoll on the machine of the daemon"}
	}
	res, err := m.Docker.VolumeInspect(ctx, name, client.VolumeInspectOptions{})
	switch {
	case cerrdefs.IsNotFound(err) && exists:
		return "", usage.Errorf("Docker has no volume %s (see docker volume ls)", name)
	case cerrdefs.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", err
	case !exists:
		return "", usage.Errorf("Docker has a volume %s already: choose another name", name)
	case res.Volume.Driver != "local":
		return "", usage.Errorf("Docker's volume %s is of the driver %s, not local", name, res.Volume.Driver)
	case len(res.Volume.Options) > 0:
		return "", usage.Errorf("Docker's volume %s is a mount of %s: mount that, and pack it with tar for plimsoll volume import", name, res.Volume.Options["device"])
	}
	return res.Volume.Mountpoint, nil
}

// unused refuses a volume of Docker with running containers; with all, also one with stopped ones, which need the volume to start.
func (m Migration) unused(ctx context.Context, name string, all bool) error {
	list, err := m.Docker.ContainerList(ctx, client.ContainerListOptions{All: all, Filters: make(client.Filters).Add("volume", name)})
	if err != nil {
		return err
	}
	var names []string
	for _, c := range list.Items {
		if len(c.Names) > 0 {
			names = append(names, strings.TrimPrefix(c.Names[0], "/"))
		} else {
			names = append(names, c.ID)
		}
	}
	if names == nil {
		return nil
	}
	fix := "stop them first"
	if all {
		fix = "remove them first, or leave out --remove"
	}
	return usage.Errorf("containers use Docker's volume %s: %s: %s", name, strings.Join(names, ", "), fix)
}

// transfer copies the content of a folder to an empty one, and compares the two.
func transfer(ctx context.Context, from, to string) error {
	if names, err := os.ReadDir(to); err != nil || len(names) > 0 {
		return errors.Join(err, fmt.Errorf("%s is not empty", to))
	}
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := volume.Pack(ctx, from, w, false)
		w.CloseWithError(err)
		packed <- err
	}()
	err := volume.Unpack(ctx, to, r)
	r.CloseWithError(io.ErrClosedPipe) // Pack must not wait for a reader that is gone.
	if perr := <-packed; perr != nil && !errors.Is(perr, io.ErrClosedPipe) {
		err = errors.Join(perr, err)
	}
	if err != nil {
		return err
	}
	return Compare(ctx, from, to)
}
