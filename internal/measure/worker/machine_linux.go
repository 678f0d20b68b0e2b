package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
	"plimsoll/internal/measure/wire"
	"plimsoll/internal/measure/workload"
)

// portPatience is the longest time between loading the port's driver and the appearance of its device.
const portPatience = 10 * time.Second

// Machine runs as the first process of a virtual machine. It mounts the kernel's file systems (/proc, /sys, /dev), loads
// the kernel modules that are named, and reports on its virtio-serial port (wire.PortName) that it has booted. The engine then sends a
// Setup, which says what to mount. From there on, Machine is the agent in that place. It returns when the engine closes
// the port; the caller then turns the machine off (TurnOff).
func Machine(ctx context.Context, exe string, modules []string) error {
	if err := mountKernel(); err != nil {
		return err
	}
	if err := loadModules(modules); err != nil {
		return err
	}
	port, err := openPort(wire.PortName)
	if err != nil {
		return err
	}
	defer port.Close()
	w := wire.NewWriter(port)
	if err := w.Send(wire.Message{Booted: booted()}); err != nil {
		return err
	}
	m, _, err := wire.NewReader(port).Next()
	if err != nil {
		return fmt.Errorf("wait for the setup: %w", err)
	}
	if m.Setup == nil {
		return errors.New("the first message is not a setup")
	}
	folders, err := setUp(m.Setup)
	if err != nil {
		return err
	}
	g, err := enterGroup(m.Setup)
	if err != nil {
		return err
	}
	RaiseOpenFiles()
	remove, err := ownFolders(folders)
	if err != nil {
		return err
	}
	defer remove()
	return answer(ctx, trialCommand{exe: exe, folders: folders, group: g}, port, port)
}

// mountKernel mounts the kernel's own file systems.
func mountKernel() error {
	for _, m := range []struct{ kind, dir string }{
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"cgroup2", cgroupRoot},
	} {
		err := unix.Mount(m.kind, m.dir, m.kind, unix.MS_NOSUID|unix.MS_NOEXEC, "")
		// A kernel may mount devtmpfs itself, and may have no control groups.
		if err != nil && !errors.Is(err, unix.EBUSY) && m.kind != "cgroup2" {
			return fmt.Errorf("mount %s: %w", m.kind, err)
		}
	}
	return nil
}

// loadModules loads the modules of files, in this order.
func loadModules(files []string) error {
	for _, file := range files {
		if err := loadModule(file); err != nil {
			return fmt.Errorf("load the kernel's module %s: %w", filepath.Base(file), err)
		}
	}
	return nil
}

func loadModule(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := eintr.Retry(func() error { return unix.FinitModule(int(f.Fd()), "", 0) }); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

// openPort opens the virtio-serial port of that name as soon as it exists.
func openPort(name string) (*os.File, error) {
	for deadline := time.Now().Add(portPatience); ; time.Sleep(2 * time.Millisecond) {
		names, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
		for _, n := range names {
			if b, err := os.ReadFile(n); err != nil || strings.TrimSpace(string(b)) != name {
				continue
			}
			f, err := os.OpenFile(filepath.Join("/dev", filepath.Base(filepath.Dir(n))), os.O_RDWR, 0)
			if err == nil || !notYet(err) {
				return f, err
			}
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("the machine has no virtio-serial port named %s", name)
		}
	}
}

// notYet reports whether a device may still come.
func notYet(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENXIO) }

// booted describes the machine.
func booted() *wire.Booted {
	b := &wire.Booted{}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		b.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	var si unix.Sysinfo_t
	if unix.Sysinfo(&si) == nil {
		b.Memory = int64(si.Totalram) * int64(si.Unit)
	}
	return b
}

// setUp makes the machine ready for its places, and returns their folders.
func setUp(s *wire.Setup) (f workload.Folders, err error) {
	setClock(s.Now)
	if f, err := os.OpenFile("/dev/urandom", os.O_WRONLY, 0); err == nil {
		_, _ = f.Write(s.Seed)
		_ = unix.IoctlSetInt(int(f.Fd()), unix.RNDRESEEDCRNG, 0)
		f.Close()
	}
	if err := loadModules(s.Modules); err != nil {
		return f, err
	}
	if s.Address != "" {
		if err := setAddress(s.Address); err != nil {
			return f, fmt.Errorf("give the guest's network interface the address %s: %w", s.Address, err)
		}
	}
	if f.Work, err = mountPlace(&s.Place); err != nil || s.Sources == nil {
		return f, err
	}
	f.Source, err = mountPlace(s.Sources)
	return f, err
}

// mountPlace mounts one of the machine's places, and returns the folder in it that is used.
func mountPlace(m *wire.GuestMount) (dir string, err error) {
	if err := os.MkdirAll(m.Dir, 0o755); err != nil {
		return "", err
	}
	if strings.HasPrefix(m.Source, "/dev/") {
		if err := awaitFile(m.Source); err != nil {
			return "", err
		}
	}
	err = withoutSignals(func() error {
		return unix.Mount(m.Source, m.Dir, m.FSType, unix.MS_NOSUID|unix.MS_NODEV, m.Options)
	})
	if err != nil {
		return "", fmt.Errorf("mount %s (%s, %s) in the guest: %w", m.Source, m.FSType, m.Options, err)
	}
	return filepath.Join(m.Dir, m.Work), nil
}

// withoutSignals runs f with all signals of its thread blocked. Mounting a network file system waits for its server, and
// fails with EINTR at any signal; Go's runtime sends its threads SIGURG to preempt them. A second try would fail: the
// server's only connection is lost with the first.
func withoutSignals(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i]--
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		return err
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	return f()
}

// awaitFile waits until a device's file exists.
func awaitFile(path string) error {
	for deadline := time.Now().Add(portPatience); ; time.Sleep(time.Millisecond) {
		_, err := os.Stat(path)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// setClock sets the machine's clock, which may show the time at which the machine was saved.
func setClock(now time.Time) {
	if now.IsZero() {
		return
	}
	tv := unix.NsecToTimeval(now.UnixNano())
	_ = unix.Settimeofday(&tv)
}

// exitPort is the port of the machine's isa-debug-exit, if it has one.
const exitPort = 0xf4

// TurnOff ends the machine. If it has the device isa-debug-exit and the kernel gives access to it (/dev/port), QEMU ends
// with (wire.ExitBase+status)*2+1; else with 0, and only the console's last line says what was wrong.
func TurnOff(status int) {
	unix.Sync()
	// This keeps "reboot: Restarting system" from the console's last line: no kernel message is below level 0
	// (proc_sys_kernel(5)), and a panic raises the level again.
	_ = os.WriteFile("/proc/sys/kernel/printk", []byte("0 4 0 0"), 0)
	if f, err := os.OpenFile("/dev/port", os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteAt([]byte{byte(wire.ExitBase + status)}, exitPort)
	}
	for {
		_ = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
		time.Sleep(time.Second)
	}
}
