package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// nsexec makes mounts that only this process and its children see, and becomes COMMAND. When the last of these
// processes ends, the kernel removes the mounts: nothing is left behind, whatever was killed.
//
//	--overlay LOWER:UPPER:WORK:MERGED    mount an overlay on MERGED; more LOWERs may follow
//	                                     the first, each under the one before it
//	--tmpfs SIZE:TARGET                  mount a tmpfs of SIZE bytes on TARGET; it may be given more than once
//	--bind FOLDER:TARGET                 create TARGET in one of these tmpfs and mount FOLDER there, even if a tmpfs
//	                                     hides FOLDER's own path; it may be given more than once
//	--child                              run COMMAND as a child instead of becoming it
func nsexec(args []string) error {
	flags := flag.NewFlagSet("nsexec", flag.ContinueOnError)
	overlay := flags.String("overlay", "", "LOWER:UPPER:WORK:MERGED")
	asChild := flags.Bool("child", false, "run COMMAND as a child")
	var tmpfs []string
	flags.Func("tmpfs", "SIZE:TARGET", func(s string) error { tmpfs = append(tmpfs, s); return nil })
	var binds []string
	flags.Func("bind", "FOLDER:TARGET", func(s string) error { binds = append(binds, s); return nil })
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("no command")
	}
	// A namespace belongs to a thread; exec takes the calling thread's.
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	// Mounts made here don't reach the host, and file systems that the host unmounts in the meantime are not kept
	// mounted here.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("make mounts slaves of the host's: %w", err)
	}
	if *overlay != "" {
		if err := mountOverlay(*overlay); err != nil {
			return err
		}
	}
	folders, err := openFolders(binds)
	if err != nil {
		return err
	}
	for _, t := range tmpfs {
		size, target, ok := strings.Cut(t, ":")
		if !ok {
			return fmt.Errorf("--tmpfs %q is not SIZE:TARGET", t)
		}
		if err := unix.Mount("tmpfs", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size="+size+",mode=0755"); err != nil {
			return fmt.Errorf("mount tmpfs on %s: %w", target, err)
		}
	}
	for i, b := range binds {
		if err := bindFolder(folders[i], b[strings.LastIndex(b, ":")+1:]); err != nil {
			return err
		}
	}
	path, err := exec.LookPath(flags.Arg(0))
	if err != nil {
		return err
	}
	if *asChild {
		return runChild(path, flags.Args())
	}
	if err := unix.Exec(path, flags.Args(), os.Environ()); err != nil {
		return fmt.Errorf("run %s: %w", path, err)
	}
	return nil
}

// openFolders opens the folders of FOLDER:TARGETs before anything is mounted over them. They are closed when the
// command begins.
func openFolders(binds []string) ([]int, error) {
	var fds []int
	for _, b := range binds {
		i := strings.LastIndex(b, ":")
		if i < 0 {
			return nil, fmt.Errorf("--bind %q is not FOLDER:TARGET", b)
		}
		fd, err := eintr.Value(func() (int, error) { return unix.Open(b[:i], unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: b[:i], Err: err}
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// bindFolder mounts an open folder on target, which it creates.
func bindFolder(folder int, target string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", folder), target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount a folder on %s: %w", target, err)
	}
	return nil
}

// mountOverlay mounts LOWER:UPPER:WORK:MERGED; there may be several LOWERs.
func mountOverlay(arg string) error {
	p := strings.Split(arg, ":")
	n := len(p) - 3
	if n < 1 {
		return fmt.Errorf("--overlay %q is not LOWER:UPPER:WORK:MERGED", arg)
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", strings.Join(p[:n], ":"), p[n], p[n+1])
	if err := unix.Mount("overlay", p[n+2], "overlay", 0, options); err != nil {
		return fmt.Errorf("mount overlay of %s on %s: %w", strings.Join(p[:n], " over "), p[n+2], err)
	}
	return nil
}
