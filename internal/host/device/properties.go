package device

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Block reads the properties of the block device whose folder in sysfs is dir. A property that the kernel doesn't show stays zero;
// so do those of the queue for a partition, which has none.
func Block(dir string) *Device {
	d := &Device{Name: filepath.Base(dir), Model: model(dir)}
	// A hidden device has no number.
	n, _ := ParseNumber(Text(dir, "dev"))
	d.Number = n
	queue := filepath.Join(dir, "queue")
	// size is in units of 512 bytes whatever the block size.
	d.Size = number(dir, "size") * 512
	d.Rotational = number(queue, "rotational") == 1
	d.Scheduler = chosen(Text(queue, "scheduler"))
	d.NrRequests = int(number(queue, "nr_requests"))
	d.WriteCache = Text(queue, "write_cache")
	d.FUA = number(queue, "fua") == 1
	d.LogicalBS = int(number(queue, "logical_block_size"))
	// A stacked device without a bound reports the greatest 32-bit number of sectors (blk_set_stacking_limits in
	// block/blk-settings.c); its I/Os are split beneath.
	if kib := number(queue, "max_sectors_kb"); kib < boundless {
		d.MaxIO = kib * 1024
	}
	d.MQ = Exists(dir, "mq")
	return d
}

// boundless, in KiB, is 1 GiB: far more than any device takes at once.
const boundless = 1 << 20

// model returns the kind of a disk: the maker's words, or the kind of a virtual one.
func model(dir string) string {
	switch {
	case Exists(dir, "loop", "backing_file"):
		if Text(dir, "loop/dio") == "1" {
			return "loop device, direct I/O"
		}
		return "loop device, buffered"
	case Exists(dir, "dm"):
		// The uuid begins with the program that made the device: LVM-, CRYPT-, mpath-.
		kind, _, _ := strings.Cut(Text(dir, "dm/uuid"), "-")
		return strings.TrimSpace("device mapper " + kind)
	case Exists(dir, "md"):
		return strings.TrimSpace("md " + Text(dir, "md/level"))
	}
	return Text(dir, "device/model")
}

// chosen returns the bracketed word of "none [mq-deadline] bfq", or the whole text if nothing is bracketed.
func chosen(s string) string {
	if _, after, ok := strings.Cut(s, "["); ok {
		word, _, _ := strings.Cut(after, "]")
		return word
	}
	return s
}

// Text returns the trimmed contents of a small file, such as those of procfs and sysfs, whose path is the joined parts; "" if it
// can't be read.
func Text(parts ...string) string {
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// number returns text as a number, 0 if it is none.
func number(dir, name string) int64 {
	n, err := strconv.ParseInt(Text(dir, name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Exists reports whether there is a file or folder whose path is the joined parts.
func Exists(parts ...string) bool {
	_, err := os.Stat(filepath.Join(parts...))
	return err == nil
}
