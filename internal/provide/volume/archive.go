package volume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"plimsoll/internal/provide/profile"
	"plimsoll/internal/text/lastbytes"
	"plimsoll/internal/text/refusal"
)

// tarKeeps are the options of GNU tar with which an archive keeps all that a file has.
var tarKeeps = []string{"--numeric-owner", "--xattrs", "--xattrs-include=*", "--acls"}

// Export writes a tar archive of a volume's content, mounted or not: of the snapshot id, or with an empty id as it is now. note says that files may have
// changed meanwhile; it may be empty.
func (s *Volumes) Export(ctx context.Context, name, id string, to io.Writer) (note string, err error) {
	v, err := s.Get(name)
	if err != nil {
		return "", err
	}
	w, err := s.viewBetweenHooks(ctx, v, id)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := Pack(ctx, w.Root, to, w.Note != ""); err != nil {
		return "", fmt.Errorf("export volume %s: %w", name, err)
	}
	return w.Note, nil
}

// Import makes a new volume from a tar archive. Its content is someone else's: tar writes through no link that it has made, and outside of the volume
// nothing.
func (s *Volumes) Import(ctx context.Context, name string, where Where, p *profile.Profile, from io.Reader) (Volume, error) {
	v, err := s.CreateWith(ctx, name, where, p, func(ctx context.Context, root string) error { return Unpack(ctx, root, from) })
	if err != nil {
		return v, fmt.Errorf("import: %w", err)
	}
	return v, nil
}

// Pack writes a tar archive of a folder's content. If the folder is used meanwhile, files that change are no error.
func Pack(ctx context.Context, folder string, to io.Writer, used bool) error {
	c, said, err := tarCommand(ctx, folder, append([]string{"--create", "--file=-", "--format=posix", "--sparse"}, append(tarKeeps, ".")...)...)
	if err != nil {
		return err
	}
	c.Stdout = to
	err = c.Run()
	// Status 1 says that files changed while they were read.
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 && used {
		return nil
	}
	return told(ctx, err, said)
}

// Unpack writes the content of a tar archive into an empty folder.
func Unpack(ctx context.Context, folder string, from io.Reader) error {
	c, said, err := tarCommand(ctx, folder, append([]string{"--extract", "--file=-", "--same-owner", "--preserve-permissions"}, tarKeeps...)...)
	if err != nil {
		return err
	}
	c.Stdin = from
	return told(ctx, c.Run(), said)
}

// tarCommand is the command tar in a folder, and its messages.
func tarCommand(ctx context.Context, folder string, args ...string) (*exec.Cmd, *lastbytes.Buffer, error) {
	path, err := exec.LookPath("tar")
	if err != nil {
		return nil, nil, &refusal.Error{What: "an archive of a volume", Why: "the program tar is not installed", Fix: "install GNU tar"}
	}
	c := exec.CommandContext(ctx, path, args...)
	said := &lastbytes.Buffer{Max: 4096}
	c.Dir, c.Stderr = folder, said
	c.Env = append(os.Environ(), "LC_ALL=C", "TAR_OPTIONS=") // The user's own would change what is kept.
	return c, said, nil
}

// told is the error of a command with the first of its messages, which names the file. tar's last one says only that there were errors.
func told(ctx context.Context, err error, said *lastbytes.Buffer) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w%s", err, prefixed(": ", lastbytes.Cut(said.String(), 600)))
}
