package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/text/lastbytes"
	"plimsoll/internal/text/usage"
)

// Where says what keeps a volume's data. All but the backend is for nfs alone.
type Where struct {
	Backend string `json:"backend"`
	// Export is the server's folder, such as "nas:/srv/volumes". The volume is a folder of its own in it, named as the volume, which other
	// machines may use at the same time.
	Export string `json:"export,omitempty"`
	// MountOptions are those of mount.nfs, such as "vers=4.2,hard".
	MountOptions string `json:"mount_options,omitempty"`
}

// isExport is HOST:/PATH, where the host is a name, an address, or an address of IPv6 in brackets.
var isExport = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?\]):/[[:graph:]]*$`).MatchString

// areMountOptions is a list of words with commas. A space or a quote would be part of an option, and is a mistake.
var areMountOptions = regexp.MustCompile(`^[A-Za-z0-9._:/=+%@,-]*$`).MatchString

// check reports what is wrong with it.
func (w Where) check() error {
	if w.Backend != "nfs" {
		if w.Export != "" || w.MountOptions != "" {
			return usage.Errorf("export and mount_options are for the backend nfs: add backend=nfs")
		}
		return nil
	}
	switch {
	case w.Export == "":
		return usage.Errorf("the backend nfs needs the server's folder: export=HOST:/FOLDER")
	case !isExport(w.Export):
		return usage.Errorf("%s is not the folder of a server: use HOST:/FOLDER", strict.Short(w.Export))
	case !areMountOptions(w.MountOptions):
		return usage.Errorf("%s are not options of mount.nfs: use words with commas, such as vers=4.2,hard", strict.Short(w.MountOptions))
	}
	return nil
}

// nfs keeps a volume in a folder of an NFS server. What is removed here stays on the server: other machines may use it.
type nfs struct{}

// inside is the volume's folder in the mounted export.
func (nfs) inside(v Volume) string { return filepath.Join(v.target(), v.Name) }

// make mounts the export and makes the volume's folder in it, if no other machine has made it.
func (n nfs) make(ctx context.Context, v Volume) (err error) {
	if err := os.Mkdir(v.target(), 0o755); err != nil {
		return err
	}
	if err := n.attach(ctx, v); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.unmount(context.WithoutCancel(ctx), v)) }()
	if err := os.Mkdir(n.inside(v), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// attach mounts the export, if it isn't mounted.
func (nfs) attach(ctx context.Context, v Volume) error {
	at, err := mountedAt(v.target())
	if at != "" || err != nil {
		return err
	}
	// Docker waits two minutes, and mount.nfs would try for as long.
	options := "retry=0"
	if v.MountOptions != "" {
		options += "," + v.MountOptions
	}
	var said lastbytes.Buffer
	c := exec.CommandContext(ctx, "mount.nfs", v.Export, v.target(), "-o", options)
	c.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	c.Stdout, c.Stderr = &said, &said
	if err := c.Run(); err != nil {
		return fmt.Errorf("mount %s: %w: %s", v.Export, err, strings.TrimSpace(said.String()))
	}
	return nil
}

func (n nfs) mount(ctx context.Context, v Volume) (Mounted, error) {
	if err := n.attach(ctx, v); err != nil {
		return Mounted{}, err
	}
	st, err := os.Lstat(n.inside(v))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("the folder %s of %s is missing: it is not made again; restore it on the server, or remove the volume", v.Name, v.Export)
	case err == nil && !st.IsDir():
		err = fmt.Errorf("%s of %s is no folder: restore it on the server, or remove the volume", v.Name, v.Export)
	}
	if err != nil {
		return Mounted{}, errors.Join(err, n.unmount(context.WithoutCancel(ctx), v))
	}
	return Mounted{Root: n.inside(v)}, nil
}

func (n nfs) root(v Volume) (string, error) {
	at, err := mountedAt(v.target())
	if at == "" || err != nil {
		return "", err
	}
	return n.inside(v), nil
}

func (nfs) unmount(ctx context.Context, v Volume) error {
	at, err := mountedAt(v.target())
	if at == "" || err != nil {
		return err
	}
	return unmountFolder(ctx, v.target())
}

func (n nfs) elsewhere(v Volume) (bool, error) {
	root, err := n.root(v)
	if root == "" || err != nil {
		return false, err
	}
	return shownElsewhere(root)
}

// release leaves the data on the server.
func (nfs) release(Volume, string) error { return nil }

// change has nothing to do: the server decides about sizes.
func (nfs) change(context.Context, Volume, Volume) error { return nil }

// examine finds nothing: an unmounted volume is out of reach.
func (nfs) examine(context.Context, Volume) error { return nil }

// space is unknown: the server's is shared.
func (nfs) space(Volume) (Space, error) { return Space{}, nil }

func (nfs) snapshots() snapshotter { return nil }
