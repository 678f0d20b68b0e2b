package step

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// syncs writes and syncs blocks of a file.
func syncs(c Call, a *Answer) error {
	f, err := os.OpenFile(c.Path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	call := unix.Fsync
	if c.How == "fdatasync" {
		call = unix.Fdatasync
	}
	block := bytes.Repeat([]byte{0x5a}, 4096)
	for i := range c.Count {
		binary.LittleEndian.PutUint32(block, uint32(i))
		if _, err := f.WriteAt(block, int64(i)*int64(len(block))); err != nil {
			return err
		}
		start := time.Now()
		if err := call(int(f.Fd())); err != nil {
			return err
		}
		a.Times = append(a.Times, time.Since(start))
		if c.Wait > 0 && sum(a.Times) > c.Wait {
			break
		}
	}
	return nil
}

func sum(times []time.Duration) (all time.Duration) {
	for _, t := range times {
		all += t
	}
	return all
}

// direct writes and reads a file with O_DIRECT, and counts what of it is cached.
func direct(c Call, a *Answer) error {
	f, err := os.OpenFile(c.Path, os.O_RDWR|os.O_CREATE|unix.O_DIRECT, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	// A map begins at a page, as direct I/O needs.
	buf, err := unix.Mmap(-1, 0, int(c.Length), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	defer unix.Munmap(buf)
	for i := range buf {
		buf[i] = byte(i*7 + i>>12)
	}
	if _, err := f.WriteAt(buf, 0); err != nil {
		return err
	}
	if _, err := f.ReadAt(buf, 0); err != nil {
		return err
	}
	a.N = -1
	m, err := unix.Mmap(int(f.Fd()), 0, int(c.Length), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	defer unix.Munmap(m)
	page := int64(os.Getpagesize())
	pages := make([]byte, (c.Length+page-1)/page)
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(c.Length), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		return nil
	}
	a.N = 0
	for _, in := range pages {
		a.N += int64(in&1) * page
	}
	return nil
}

// appends appends numbered records.
func appends(c Call) error {
	if len(c.Data) < 4 {
		return errors.New("append: a record has four bytes at least")
	}
	f, err := os.OpenFile(c.Path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	record := bytes.Clone(c.Data)
	for i := range c.Count {
		binary.LittleEndian.PutUint32(record, uint32(i))
		if _, err := f.Write(record); err != nil {
			return err
		}
	}
	return nil
}

// act does the same to many files.
func act(c Call, a *Answer) error {
	for i := range c.Count {
		path := filepath.Join(c.Path, Name(i))
		a.Times = append(a.Times, now())
		var err error
		switch c.How {
		case "create":
			err = replace(path, os.O_CREATE|os.O_EXCL, nil)
		case "modify":
			err = replace(path, 0, c.Data)
		case "move":
			err = os.Rename(path, filepath.Join(c.To, Name(i)))
		case "delete":
			err = os.Remove(path)
		default:
			err = fmt.Errorf("act: there is no way %q", c.How)
		}
		if err != nil {
			return err
		}
		if c.Wait > 0 && i%10 == 9 { // A sleep takes a millisecond, whatever it is asked for.
			time.Sleep(c.Wait)
		}
	}
	return nil
}

// race creates files that do not exist yet.
func race(c Call, a *Answer) error {
	for i := range c.Count {
		switch err := replace(filepath.Join(c.Path, Name(i)), os.O_CREATE|os.O_EXCL, nil); {
		case err == nil:
			a.N++
		case !errors.Is(err, os.ErrExist):
			return err
		}
	}
	return nil
}

// replace opens a file and writes data at its beginning.
func replace(path string, how int, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|how, 0o644)
	if err != nil {
		return err
	}
	if len(data) > 0 {
		_, err = f.WriteAt(data, 0)
	}
	return errors.Join(err, f.Close())
}

// list lists a folder again and again while others change it.
func list(c Call, a *Answer) error {
	a.Errors = map[string]int{}
	for end := time.Now().Add(c.Wait); time.Now().Before(end); a.N++ {
		all, err := names(c.Path)
		if err != nil {
			return err
		}
		times := map[string]int{}
		for _, name := range all {
			times[name]++
		}
		for i := range c.Count {
			switch times[Name(i)] {
			case 1:
			case 0:
				a.Errors["missing"]++
			default:
				a.Errors["twice"]++
			}
		}
	}
	return nil
}

// churn creates and removes files.
func churn(c Call, a *Answer) error {
	const at = 64 // How many exist at a time.
	for end := time.Now().Add(c.Wait); time.Now().Before(end); a.N++ {
		if err := replace(filepath.Join(c.Path, fmt.Sprintf("churn%07d", a.N)), os.O_CREATE, nil); err != nil {
			return err
		}
		if a.N >= at {
			if err := os.Remove(filepath.Join(c.Path, fmt.Sprintf("churn%07d", a.N-at))); err != nil {
				return err
			}
		}
	}
	return nil
}

// opens opens files in parallel.
func opens(c Call, a *Answer) error {
	const threads = 8
	var (
		wg sync.WaitGroup
		mu sync.Mutex
	)
	a.Errors = map[string]int{}
	start := time.Now()
	for t := range threads {
		wg.Go(func() {
			for i := t; i < c.Count && (c.Wait == 0 || time.Since(start) < c.Wait); i += threads {
				f, err := os.Open(filepath.Join(c.Path, Name(i%int(c.Length))))
				if err == nil {
					err = f.Close()
				}
				var errno unix.Errno
				mu.Lock()
				a.N++
				if errors.As(err, &errno) {
					a.Errors[unix.ErrnoName(errno)]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return nil
}

// ticks finds the smallest difference of two modification times.
func ticks(c Call, a *Answer) error {
	f, err := os.Create(c.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	last := int64(0)
	for end := time.Now().Add(c.Wait); time.Now().Before(end); {
		if _, err := f.WriteAt([]byte{1}, 0); err != nil {
			return err
		}
		st, err := status(c.Path, true)
		if err != nil {
			return err
		}
		if d := st.MTime - last; last != 0 && d > 0 && (a.N == 0 || d < a.N) {
			a.N = d
		}
		last = st.MTime
	}
	return nil
}

// await waits until an edit is seen.
func (p *process) await(c Call, a *Answer) error {
	first, err := status(c.Path, true)
	if err != nil {
		return err
	}
	for end := time.Now().Add(c.Wait); ; time.Sleep(200 * time.Microsecond) {
		if a.Stat, err = status(c.Path, true); err != nil {
			return err
		}
		seen := false
		switch c.How {
		case "size":
			seen = a.Stat.Size != first.Size
		case "mtime":
			seen = a.Stat.MTime != first.MTime
		default:
			read := Call{Op: Read, Path: c.Path, Length: int64(len(c.Data))}
			if c.How == "held" {
				read.Path, read.File = "", c.File
			}
			if err := p.onFile(read, a); err != nil {
				return err
			}
			seen = bytes.Equal(a.Data, c.Data)
		}
		if seen {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("the edit of %s was not seen: %w", c.Path, unix.ETIMEDOUT)
		}
	}
}
