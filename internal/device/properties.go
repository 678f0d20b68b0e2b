package device

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Block reads the properties of the block device with the folder dir in sysfs. What a kernel doesn't
// show stays zero; so does what belongs to the queue, which a partition hasn't.
func Block(dir string) *Device {
	d := &Device{Name: filepath.Base(dir), Model: model(dir)}
	// A hidden device has no number.
	d.Major, d.Minor, _ = parseDev(text(dir, "dev"))
	queue := filepath.Join(dir, "queue")
	// size is in units of 512 bytes whatever the block size.
	d.Size = number(dir, "size") * 512
	d.Rotational = number(queue, "rotational") == 1
	d.Scheduler = chosen(text(queue, "scheduler"))
	d.NrRequests = int(number(queue, "nr_requests"))
	d.WriteCache = text(queue, "write_cache")
	d.LogicalBS = int(number(queue, "logical_block_size"))
	d.MaxIO = number(queue, "max_sectors_kb") * 1024
	d.MQ = exists(filepath.Join(dir, "mq"))
	return d
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
