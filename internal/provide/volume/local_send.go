package volume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"plimsoll/internal/provide/volume/image"
	"plimsoll/internal/text/lastbytes"
	"plimsoll/internal/text/refusal"
)

// notBtrfs is the refusal of a volume that can't be sent.
func notBtrfs(v Volume) error {
	return &refusal.Error{What: "replication of volume " + v.Name, Why: "only btrfs can send what has changed", Fix: "make the volume with filesystem: btrfs, or use plimsoll volume backup"}
}

func (local) send(ctx context.Context, v Volume, p Snapshot, base *Snapshot, to io.Writer) error {
	if !p.Subvolume {
		return notBtrfs(v)
	}
	return mountedView(ctx, v, true, func() error {
		args := []string{"send", "--quiet"}
		if base != nil {
			args = append(args, "-p", image.Subpath(v.view(), base.ID))
		}
		return btrfs(ctx, nil, to, append(args, image.Subpath(v.view(), p.ID))...)
	})
}

func (local) receive(ctx context.Context, v Volume, p Snapshot, _ *Snapshot, from io.Reader) error {
	if !p.Subvolume {
		return notBtrfs(v)
	}
	if err := image.Subremove(ctx, v.image(), p.ID); err != nil { // It makes the folder of snapshots.
		return err
	}
	return mountedView(ctx, v, false, func() error {
		// The stream names the subvolume. It must not be able to name another one.
		folder := filepath.Dir(image.Subpath(v.view(), p.ID))
		if err := btrfs(ctx, from, io.Discard, "receive", "--quiet", "--chroot", folder); err != nil {
			return err
		}
		if _, err := os.Lstat(image.Subpath(v.view(), p.ID)); err != nil {
			return fmt.Errorf("what was sent has no snapshot %s: %w", p.ID, err)
		}
		return nil
	})
}

// mountedView calls f while the whole file system of a volume is mounted on its view, beside the volume's own mount.
func mountedView(ctx context.Context, v Volume, readOnly bool, f func() error) (err error) {
	lock, err := takeView(v)
	if err != nil {
		return err
	}
	w := &View{volume: v, lock: lock}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.clean(ctx); err != nil { // A killed process's view.
		return err
	}
	if err := os.Mkdir(v.view(), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if _, err := image.Mount(ctx, v.image(), v.view(), image.MountOptions{ReadOnly: readOnly}); err != nil {
		return err
	}
	return f()
}

// btrfs runs the program btrfs.
func btrfs(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	path, err := exec.LookPath("btrfs")
	if err != nil {
		return &refusal.Error{What: "replication", Why: "the program btrfs is not installed", Fix: "install btrfs-progs"}
	}
	c := exec.CommandContext(ctx, path, args...)
	said := &lastbytes.Buffer{Max: 4096}
	c.Stdin, c.Stdout, c.Stderr = in, out, said
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("btrfs %s: %w%s", args[0], err, prefixed(": ", lastbytes.LastWords(said.String())))
	}
	return nil
}
