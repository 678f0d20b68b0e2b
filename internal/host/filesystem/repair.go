package filesystem

import (
	"context"
	"errors"
	"os"
	"slices"
)

// A DamagedError says that a file system can't be used as it is.
type DamagedError struct {
	Path, Why string
	// Run is the command that repairs it, or reports what is lost.
	Run string
}

// Error is "PATH is damaged: WHY; run RUN".
func (e *DamagedError) Error() string {
	return e.Path + " is damaged: " + e.Why + "; copy it, then run " + e.Run
}

// repairs are the commands that a person may run, without the path.
var repairs = map[Kind]string{Ext4: "e2fsck -f ", XFS: "xfs_repair ", Btrfs: "btrfs check --readonly "}

// Damaged is a DamagedError for a file system of a kind.
func Damaged(path string, kind Kind, why string) *DamagedError {
	return &DamagedError{path, why, repairs[kind] + path}
}

// Check makes a file system in a file ready to be mounted after a crash: for ext4, e2fsck replays the journal and repairs what is
// safe to repair (-p). The kernel does so for xfs and btrfs when it mounts them. A damaged file system is a *DamagedError. The file
// must not be attached or mounted.
//
// The caller has locked the file (flock(2)). The program inherits the lock: it may outlive a caller that is killed, and the file stays locked until it ends.
// For an open device, locked is the file below it.
func Check(ctx context.Context, f *os.File, s Super, locked ...*os.File) error {
	if s.Kind != Ext4 || !s.Dirty && !s.Errors {
		return nil
	}
	return damage(runOn(ctx, append(locked, f), "e2fsprogs", "e2fsck", "-p", f.Name()), f.Name(), Ext4, 3)
}

// Inspect reads all of the metadata of a file system that isn't mounted, changes nothing, and takes long. An error that isn't a
// *DamagedError says that it could not be found out, such as for an xfs that must be mounted first to replay its journal.
func Inspect(ctx context.Context, path string, kind Kind) error {
	switch kind {
	case XFS:
		argv := []string{"xfs_repair", "-n", path}
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			argv = slices.Insert(argv, 2, "-f")
		}
		return damage(run(ctx, "xfsprogs", argv...), path, kind, 0)
	case Btrfs:
		return damage(run(ctx, "btrfs-progs", "btrfs", "check", "--readonly", path), path, kind, 0)
	}
	return damage(run(ctx, "e2fsprogs", "e2fsck", "-f", "-n", path), path, Ext4, 0)
}

// damage returns the failure of a checking program: up to the exit status good all is well.
func damage(err error, path string, kind Kind, good int) error {
	failed := (*FailedError)(nil)
	switch {
	case !errors.As(err, &failed) || failed.Status < 0:
		return err
	case failed.Status <= good && kind == Ext4: // e2fsck(8): 1 and 2 are repaired errors, 16 and more no answer.
		return nil
	case kind == Ext4 && failed.Status >= 16, kind == XFS && failed.Status != 1:
		return err
	}
	return Damaged(path, kind, failed.Error())
}

// NewUUID gives an unmounted file system in a file another UUID. Its journal must be empty.
func NewUUID(ctx context.Context, path string, kind Kind) error {
	switch kind {
	case XFS:
		return run(ctx, "xfsprogs", "xfs_admin", "-U", "generate", path)
	case Btrfs:
		// -m changes the superblock alone, since Linux 5.0; -u would write all metadata again.
		return run(ctx, "btrfs-progs", "btrfstune", "-f", "-m", path)
	}
	return run(ctx, "e2fsprogs", "tune2fs", "-U", "random", path)
}

// GrowUnmounted makes an ext4 in a file as large as the file, without the kernel. A kill in the middle may need a repair, which an
// ext4 that the kernel grows never does. The file is locked as in Check.
func GrowUnmounted(ctx context.Context, f *os.File, locked ...*os.File) error {
	files := append(locked, f)
	// resize2fs asks for it.
	if err := damage(runOn(ctx, files, "e2fsprogs", "e2fsck", "-f", "-p", f.Name()), f.Name(), Ext4, 3); err != nil {
		return err
	}
	return runOn(ctx, files, "e2fsprogs", "resize2fs", f.Name())
}
