package device

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// disk returns the whole disk of major:minor with its properties and the stack
// under it.
func (f FS) disk(major, minor uint32, mounts []Mount, depth int) (*Device, error) {
	top, err := f.block(major, minor)
	if err != nil {
		return nil, err
	}
	whole := top
	if exists(filepath.Join(top, "partition")) {
		whole = filepath.Dir(top)
	}
	d := &Device{Name: filepath.Base(whole)}
	if d.Major, d.Minor, err = parseDev(text(whole, "dev")); err != nil {
		return nil, fmt.Errorf("disk %s: %w", d.Name, err)
	}
	properties(d, whole)
	w := walk{fs: f, mounts: mounts, depth: depth}
	w.add(top)
	d.Stack = w.names
	return d, nil
}

// block returns the sysfs folder of a block device.
func (f FS) block(major, minor uint32) (string, error) {
	link := filepath.Join(f.Sys, "dev", "block", fmt.Sprintf("%d:%d", major, minor))
	dir, err := filepath.EvalSymlinks(link)
	if err != nil {
		return "", fmt.Errorf("block device %d:%d: %w", major, minor, err)
	}
	return dir, nil
}

// properties fills d from the folder of a whole disk. What a kernel doesn't show
// stays zero.
func properties(d *Device, dir string) {
	queue := filepath.Join(dir, "queue")
	// size is in units of 512 bytes whatever the block size.
	d.Size = number(dir, "size") * 512
	d.Rotational = number(queue, "rotational") == 1
	d.Scheduler = chosen(text(queue, "scheduler"))
	d.NrRequests = int(number(queue, "nr_requests"))
	d.WriteCache = text(queue, "write_cache")
	d.LogicalBS = int(number(queue, "logical_block_size"))
	d.Model = model(dir)
}

// model names the kind of a disk: the maker's words, or what a virtual one is.
func model(dir string) string {
	switch {
	case exists(filepath.Join(dir, "loop", "backing_file")):
		if text(dir, "loop/dio") == "1" {
			return "loop device, direct I/O"
		}
		return "loop device, buffered"
	case exists(filepath.Join(dir, "dm")):
		// The uuid begins with what made the device: LVM-, CRYPT-, mpath-.
		kind, _, _ := strings.Cut(text(dir, "dm/uuid"), "-")
		return strings.TrimSpace("device mapper " + kind)
	case exists(filepath.Join(dir, "md")):
		return strings.TrimSpace("md " + text(dir, "md/level"))
	}
	return text(dir, "device/model")
}

// chosen returns the bracketed word of "none [mq-deadline] bfq", or the whole
// where nothing is bracketed.
func chosen(s string) string {
	if _, after, ok := strings.Cut(s, "["); ok {
		word, _, _ := strings.Cut(after, "]")
		return word
	}
	return s
}

// walk collects the names of a stack, from the top to the bottom, each once.
type walk struct {
	fs     FS
	mounts []Mount
	depth  int
	names  []string
}

// add adds the device in dir and what is beneath it: its disk for a partition, its slaves
// for dm and md, the devices under its file for a loop.
func (w *walk) add(dir string) {
	name := filepath.Base(dir)
	if slices.Contains(w.names, name) {
		return
	}
	w.names = append(w.names, name)
	if exists(filepath.Join(dir, "partition")) {
		w.add(filepath.Dir(dir))
		return
	}
	slaves, _ := os.ReadDir(filepath.Join(dir, "slaves"))
	for _, s := range slaves {
		if real, err := filepath.EvalSymlinks(filepath.Join(dir, "slaves", s.Name())); err == nil {
			w.add(real)
		}
	}
	file := text(dir, "loop/backing_file")
	if file == "" {
		return
	}
	// The stack under a file is evidence, not a promise: where the file can't be
	// found (deleted, or in another mount namespace) the stack ends at the loop.
	below, err := w.fs.of(w.mounts, strings.TrimSuffix(file, " (deleted)"), w.depth+1)
	if err != nil {
		return
	}
	for _, d := range below.Devices {
		for _, n := range d.Stack {
			if !slices.Contains(w.names, n) {
				w.names = append(w.names, n)
			}
		}
	}
}

// text returns the trimmed content of a sysfs file, "" where it can't be read.
func text(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// number is text as a number, 0 where it is none.
func number(dir, name string) int64 {
	n, err := strconv.ParseInt(text(dir, name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
