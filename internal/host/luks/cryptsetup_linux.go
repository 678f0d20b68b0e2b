package luks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"plimsoll/internal/text/refusal"
)

// Statuses with which cryptsetup(8) ends.
const (
	wrongKey = 2
	exists   = 5
)

// format are the options of a new header.
//
// Deriving the key takes as little time as is allowed, 1 ms instead of argon2's 2 s and 1 GiB: it slows down who guesses a password,
// and a key of random bytes can't be guessed. Sectors of 4096 bytes cost a third less than those of 512.
var format = []string{"luksFormat", "--type", "luks2", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000",
	"--sector-size", "4096", "--offset", fmt.Sprint(HeaderSize / 512)}

// Format writes a header to a file, with a new random key for the data that the given one opens. The rest stays as it is: what reads
// as zeros reads as noise through the open device.
func Format(ctx context.Context, path string, key []byte) error {
	return run(ctx, key, append(format, "--key-file=-", path)...)
}

// NewUUID gives the header in a file, which must not be open, another UUID.
func NewUUID(ctx context.Context, path string) error {
	uuid, err := os.ReadFile("/proc/sys/kernel/random/uuid")
	if err != nil {
		return err
	}
	return run(ctx, nil, "luksUUID", "--uuid", strings.TrimSpace(string(uuid)), path)
}

// TryKey reports whether a key opens a loop device, and doesn't open it. The error is ErrKey if it doesn't.
func TryKey(ctx context.Context, loop *os.File, key []byte) error {
	return run(ctx, key, "open", "--type", "luks2", "--test-passphrase", "--key-file=-", loop.Name())
}

// Open opens a loop device under a name. The device is closed with its last user, of which the result is one. If the loop device is
// open already, as Find would find it, the result is that.
//
// Discards are passed on, or a thin image would never become smaller. They show which blocks of the image are in use, and so about how
// full the volume is, to whoever can read the image. Holes in the image do that in any case.
func Open(ctx context.Context, loop *os.File, name string, key []byte) (*os.File, error) {
	d, err := open(ctx, loop, name, key)
	if errors.Is(err, errGone) { // Another process's Sweep took it for one that a killed process left.
		return open(ctx, loop, name, key)
	}
	return d, err
}

// errGone says that a device that was opened is there no more.
var errGone = errors.New("it is gone")

func open(ctx context.Context, loop *os.File, name string, key []byte) (*os.File, error) {
	err := run(ctx, key, "open", "--type", "luks2", "--allow-discards", "--key-file=-", loop.Name(), name)
	if failed := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &failed) || failed.ExitCode() != exists) {
		return nil, err
	}
	// Status 5 is also that of a cryptsetup whose parent was killed, and which was quicker.
	d, ferr := Find(ctx, loop, name)
	if d == nil && ferr == nil {
		ferr = errors.Join(fmt.Errorf("%s: %w", Path(name), errGone), err)
	}
	return d, ferr
}

// Resize gives an open device the present size of its loop device.
func Resize(ctx context.Context, name string, key []byte) error {
	return run(ctx, key, "resize", "--key-file=-", name)
}

// run runs cryptsetup, with a key on its standard input.
func run(ctx context.Context, key []byte, args ...string) error {
	path, err := exec.LookPath("cryptsetup")
	if err != nil {
		return &refusal.Error{What: "encryption", Why: "cryptsetup is not installed", Fix: "apt-get install cryptsetup-bin"}
	}
	c := exec.CommandContext(ctx, path, append([]string{"--batch-mode", "--disable-locks"}, args...)...)
	c.Stdin = bytes.NewReader(key)
	c.Env = append(os.Environ(), "LC_ALL=C")
	if _, err := os.Stat("/run/udev/control"); err != nil {
		// Without udev, as in a container, nobody else makes the names in /dev/mapper, and cryptsetup would wait for ever.
		c.Env = append(c.Env, "DM_DISABLE_UDEV=1")
	}
	out, err := c.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failed *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed) && failed.ExitCode() == wrongKey:
		return ErrKey
	}
	return fmt.Errorf("cryptsetup %s: %w: %.500s", args[0], err, strings.TrimSpace(string(out)))
}
