package filesystem

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/size"
)

// A maker is how a kind is made.
type maker struct {
	argv []string
	// label is the option for the label, and longest its most bytes.
	label   string
	longest int
	// least is the least size in bytes that the program accepts, or that is of use.
	least int64
	// in is the Debian package of the program.
	in string
	// noisy are options for a device whose unwritten blocks read as noise.
	noisy []string
}

// makers make file systems for sectors of 4096 bytes, so that an image can move to any disk. Nothing is left for the kernel to
// initialise in the background, which would falsify measurements.
//
// For ext4, the first -E finds that a hole in the image reads as zeros, marks the inode tables as zeroed, and leaves the journal a
// hole: 4 MiB of 20 GiB are allocated, and it takes as long as any other choice (20 to 60 ms; so do fewer inodes, packed_meta_blocks
// and sparse_super2). On a file system without holes it writes the tables. The seed lets the UUID change without a new checksum for
// every block.
//
// A hole in an encrypted image reads as noise, so mkfs would write all of ext4's inode tables: a 64th of the capacity. They stay
// unwritten instead, and NoInit keeps the kernel from writing them in the background. Nothing reads such a table: the descriptors of
// block groups say how much of it is in use.
var makers = map[Kind]maker{
	Ext4:  {[]string{"mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "0", "-O", "metadata_csum_seed", "-E", "lazy_itable_init=0,lazy_journal_init=1"}, "-L", 16, 32 << 20, "e2fsprogs", []string{"-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"}},
	XFS:   {[]string{"mkfs.xfs", "-q", "-K", "-s", "size=4096", "-m", "reflink=1"}, "-L", 12, 300 << 20, "xfsprogs", nil},
	Btrfs: {[]string{"mkfs.btrfs", "-q", "-K"}, "-L", 255, 109 << 20, "btrfs-progs", nil},
}

// CheckMake reports what is wrong with the arguments of Make for a file of size bytes.
func CheckMake(kind Kind, label string, bytes int64) error {
	m, ok := makers[kind]
	switch {
	case !ok:
		return fmt.Errorf("%q is no file system for an image: ext4, xfs or btrfs", string(kind))
	case bytes < m.least:
		return fmt.Errorf("%s is too small for %s: %s is the least", size.Bytes(bytes), kind, size.Bytes(m.least))
	case len(label) > m.longest:
		return fmt.Errorf("label %.300q is too long: %d bytes are the most for %s", label, m.longest, kind)
	}
	return nil
}

// Make makes a file system in a file, which must be empty. label may be empty.
func Make(ctx context.Context, path string, kind Kind, label string) error {
	return makeWith(ctx, path, kind, label, nil)
}

// MakeEncrypted is Make for an encrypted device. Such an ext4 must be opened with NoInit.
func MakeEncrypted(ctx context.Context, path string, kind Kind, label string) error {
	return makeWith(ctx, path, kind, label, makers[kind].noisy)
}

// NoInit is the option of Open with which the kernel doesn't write ext4's inode tables in the background.
const NoInit = "noinit_itable"

func makeWith(ctx context.Context, path string, kind Kind, label string, more []string) error {
	m := makers[kind]
	argv := slices.Concat(m.argv, more) // The last -E counts.
	if label != "" {
		argv = append(argv, m.label, label)
	}
	return run(ctx, m.in, append(argv, path)...)
}

// A FailedError is the end of a program that failed.
type FailedError struct {
	Program string
	// Status is its exit status, -1 if a signal ended it.
	Status int
	// Text is what it printed.
	Text string
	err  error
}

// Error is "PROGRAM: exit status 1: TEXT".
func (e *FailedError) Error() string { return fmt.Sprintf("%s: %v: %.500s", e.Program, e.err, e.Text) }

// Unwrap returns the error of os/exec, or the context's.
func (e *FailedError) Unwrap() error { return e.err }

// run runs a program of a package.
func run(ctx context.Context, in string, argv ...string) error { return runOn(ctx, nil, in, argv...) }

// runOn is run with open files that the program inherits, and their locks.
func runOn(ctx context.Context, files []*os.File, in string, argv ...string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return &refusal.Error{What: argv[0], Why: "it is not installed", Fix: "install " + in}
	}
	c := exec.CommandContext(ctx, path, argv[1:]...)
	c.ExtraFiles = files
	out, err := c.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err == nil {
		return nil
	}
	failed := &FailedError{Program: argv[0], Status: -1, Text: string(out), err: err}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		failed.Status = exit.ExitCode()
	}
	return failed
}
