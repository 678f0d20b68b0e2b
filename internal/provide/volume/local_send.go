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

func (local) send(ctx context.Context, v Volume, p Snapshot, base *Snapshot, to io.Writer) error {
	if !p.Subvolume {
		from := ""
		if base != nil {
			from = v.snapshot(base.ID)
		}
		return image.Diff(ctx, v.snapshot(p.ID), from, to)
	}
	return mountedView(ctx, v, true, func() error {
		args := []string{"send", "--quiet"}
		if base != nil {
			args = append(args, "-p", image.Subpath(v.view(), base.ID))
		}
		return btrfs(ctx, nil, to, append(args, image.Subpath(v.view(), p.ID))...)
	})
}

func (l local) receive(ctx context.Context, v Volume, p Snapshot, base *Snapshot, from io.Reader) error {
	if !p.Subvolume {
		return l.patch(ctx, v, p, base, from)
	}
	if err := image.Subremove(ctx, v.image(), p.ID, keyOf(v)); err != nil { // It makes the folder of snapshots.
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

// patch is receive for a snapshot that is a file.
func (local) patch(ctx context.Context, v Volume, p Snapshot, base *Snapshot, from io.Reader) error {
	if err := makeSnapshots(v); err != nil {
		return err
	}
	old := ""
	if base != nil {
		old = v.snapshot(base.ID)
	}
	if err := image.Patch(ctx, old, v.snapshot(p.ID), from); err != nil {
		return err
	}
	// The last frame comes behind it.
	if n, err := io.Copy(io.Discard, from); err != nil || n > 0 {
		return errors.Join(err, errCut)
	}
	// A snapshot must be an image, or every later call for it fails.
	i, err := image.Describe(ctx, v.snapshot(p.ID))
	if err == nil && i.Encrypted == keyOf(v).None() {
		err = errors.New("the image that was sent and the volume here differ in encryption")
	}
	return err
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
	if _, err := image.Mount(ctx, v.image(), v.view(), image.MountOptions{ReadOnly: readOnly, Key: keyOf(v)}); err != nil {
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
