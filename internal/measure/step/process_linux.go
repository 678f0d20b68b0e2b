package step

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// A process holds what steps opened.
type process struct {
	files map[int]*os.File
	maps  map[int][]byte
	watch *watch
}

func newProcess() *process {
	// A map of a file that was cut off on the other side faults: that is an answer, not the end.
	debug.SetPanicOnFault(true)
	return &process{files: map[int]*os.File{}, maps: map[int][]byte{}}
}

// take takes one step.
func (p *process) take(c Call) *Answer {
	a := &Answer{}
	err := p.try(c, a)
	a.At = now()
	if err != nil {
		a.Error = err.Error()
		var errno unix.Errno
		if errors.As(err, &errno) {
			a.Errno = unix.ErrnoName(errno)
		}
	}
	return a
}

// now is the machine's CLOCK_MONOTONIC, which is the same in all its containers.
func now() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // The clock always exists.
	return time.Duration(t.Nano())
}

// errFault is the error of a map whose page can't be had (SIGBUS).
var errFault = fmt.Errorf("a mapped page can't be read or written: %w", unix.EFAULT)

// try takes a step. a is filled in also if the step fails.
func (p *process) try(c Call, a *Answer) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, fault := r.(interface{ Addr() uintptr }); !fault {
				panic(r)
			}
			err = errFault
		}
	}()
	switch c.Op {
	case Clock:
		return nil
	case PIDs:
		a.Names, err = pidSeries()
		return err
	case Open:
		return p.open(c)
	case Close, Read, Write, Truncate, Map, Load, Store, Lock, Unlock:
		return p.onFile(c, a)
	case Sync:
		return syncs(c, a)
	case Direct:
		return direct(c, a)
	case Append:
		return appends(c)
	case Act:
		return act(c, a)
	case Race:
		return race(c, a)
	case Watch:
		p.watch, err = newWatch(c.Path)
		return err
	case Events:
		return p.watch.events(c, a)
	case Await:
		return p.await(c, a)
	case Ticks:
		return ticks(c, a)
	case List:
		return list(c, a)
	case Churn:
		return churn(c, a)
	case Opens:
		return opens(c, a)
	}
	return onPath(c, a)
}

// pidSeries names the kernel's run and the PID namespace of this process.
func pidSeries() ([]string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, err
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	return []string{string(bytes.TrimSpace(boot)), namespace}, err
}

// flags are the flags of open(2) for each way of Open.
var flags = map[string]int{
	"r": os.O_RDONLY, "rw": os.O_RDWR, "create": os.O_RDWR | os.O_CREATE | os.O_TRUNC, "append": os.O_WRONLY | os.O_APPEND | os.O_CREATE,
}

func (p *process) open(c Call) error {
	how, ok := flags[c.How]
	if !ok {
		return fmt.Errorf("open %s: there is no way %q", c.Path, c.How)
	}
	f, err := os.OpenFile(c.Path, how, 0o644)
	if err != nil {
		return err
	}
	if old := p.files[c.File]; old != nil {
		old.Close()
	}
	p.files[c.File] = f
	return nil
}

// onFile takes a step on an open file, or on Path for Read and Write.
func (p *process) onFile(c Call, a *Answer) error {
	f := p.files[c.File]
	if c.Path != "" {
		how := os.O_RDONLY
		if c.Op == Write {
			how = os.O_WRONLY | os.O_CREATE
		}
		var err error
		if f, err = os.OpenFile(c.Path, how, 0o644); err != nil {
			return err
		}
		defer f.Close()
	}
	if f == nil {
		return fmt.Errorf("%s: there is no open file %d", c.Op, c.File)
	}
	switch c.Op {
	case Close:
		delete(p.files, c.File)
		if m := p.maps[c.File]; m != nil {
			delete(p.maps, c.File)
			_ = unix.Munmap(m) // Whole maps can always be unmapped.
		}
		return f.Close()
	case Read:
		a.Data = make([]byte, c.Length)
		n, err := f.ReadAt(a.Data, c.Offset)
		a.Data = a.Data[:n]
		if n > 0 || c.Length == 0 {
			return nil
		}
		return err
	case Write:
		_, err := f.WriteAt(c.Data, c.Offset)
		return err
	case Truncate:
		return f.Truncate(c.Length)
	case Map:
		m, err := unix.Mmap(int(f.Fd()), 0, int(c.Length), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			p.maps[c.File] = m
		}
		return err
	case Load:
		a.Data = append([]byte(nil), p.maps[c.File][c.Offset:c.Offset+c.Length]...)
		return nil
	case Store:
		copy(p.maps[c.File][c.Offset:], c.Data)
		return nil
	}
	return lock(f, c)
}

// lock locks or unlocks a part of a file, without waiting.
func lock(f *os.File, c Call) error {
	if c.How == "flock" {
		how := unix.LOCK_EX | unix.LOCK_NB
		if c.Op == Unlock {
			how = unix.LOCK_UN
		}
		return eintr.Retry(func() error { return unix.Flock(int(f.Fd()), how) })
	}
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: c.Offset, Len: c.Length}
	switch {
	case c.Op == Unlock:
		l.Type = unix.F_UNLCK
	case c.How == "posix shared":
		l.Type = unix.F_RDLCK
	}
	cmd := unix.F_SETLK
	if c.How == "ofd" {
		cmd = unix.F_OFD_SETLK
	}
	return unix.FcntlFlock(f.Fd(), cmd, &l)
}
