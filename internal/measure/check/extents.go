package check

import (
	"strings"

	"plimsoll/internal/measure/record"
	"plimsoll/load"
)

// inlineSize is the largest file that may have no extents of its own: btrfs and ext4 keep small files inside their metadata
// (btrfs: at most 4 KiB by default; one page size of 64 KiB is the largest).
const inlineSize = 64 << 10

// checkUnwritten is check 3: does the file have written blocks of its own under all of the job's region?
func checkUnwritten(v *view) []record.Warning {
	if !v.block || v.memory {
		return nil
	}
	reads, writes := v.read.app > 0, v.written.app > 0
	for i := range v.results {
		f := v.results[i].File
		e := map[string]any{"extents": f.Extents, "unwritten": f.Unwritten, "shared": f.Shared, "delalloc": f.Delalloc, "size": f.Size}
		switch {
		case f.Extents == 0 && f.Size > inlineSize && reads:
			return warning(Unwritten, record.Doubt, e, "The file has no extents: reads of holes return zeros without I/O.")
		case f.Unwritten > 0 && reads:
			return warning(Unwritten, record.Doubt, e, "%d of the file's %d extents are unwritten: reads of them return zeros without I/O.", f.Unwritten, f.Extents)
		case f.Unwritten > 0 && writes:
			return warning(Unwritten, record.Note, e, "%d of the file's %d extents are unwritten: the first write to each also changes metadata.", f.Unwritten, f.Extents)
		case f.Delalloc > 0 && (reads || v.direct):
			return warning(Unwritten, record.Doubt, e, "%d of the file's %d extents have no place on the device yet (delayed allocation): they were in memory only.", f.Delalloc, f.Extents)
		case f.Shared > 0 && writes:
			return warning(Unwritten, record.Doubt, e, "%d of the file's %d extents are shared with another file or a snapshot: the first write to each must copy it.", f.Shared, f.Extents)
		}
	}
	return nil
}

// checkCompressible is check 6. Plimsoll's data can't be compressed, unless the job asks for it. So the check asks whether
// the file system tries to, and whether fewer bytes reached the device than were written.
func checkCompressible(v *view) []record.Warning {
	data := reducible(v.t.Spec.Job)
	option := compression(v.where.FSType, v.where.Options)
	f := v.written
	if v.block && v.direct && v.onDisk() && f.app >= baseSlack {
		if share := f.share(v.slack); share >= noneReached && share < allReached {
			what := "a layer between (a cache, compression or deduplication) kept the rest"
			if option != "" {
				what = "the file system compresses (" + option + ")"
			}
			if data != "" {
				return warning(Compressible, record.Note, v.evidence(f), "Only %s: %s, which the job's %s makes possible.", v.sentence(f), what, data)
			}
			return warning(Compressible, record.Doubt, v.evidence(f), "Only %s: %s.", v.sentence(f), what)
		}
	}
	if option == "" || v.memory {
		return nil
	}
	if data != "" {
		return warning(Compressible, record.Note, map[string]any{"option": option},
			"The file system compresses (%s), and the job's %s makes data that it can reduce: the figure holds for such data only.", option, data)
	}
	return warning(Compressible, record.Note, map[string]any{"option": option},
		"The file system compresses (%s), but Plimsoll writes data that can't be compressed. Compressible data may be faster or slower than this figure.", option)
}

// reducible names the job's key that makes data which storage can compress or deduplicate; "" if there is none.
func reducible(j load.Job) string {
	switch {
	case !j.Writes():
	case j.Data == load.DataZero:
		return "zero_buffers"
	case j.Data == load.DataFixed:
		return "scramble_buffers=0"
	case j.Compress > 0:
		return "buffer_compress_percentage"
	case j.Dedupe > 0:
		return "dedupe_percentage"
	}
	return ""
}

// compression returns the mount option by which a file system compresses, "" if
// none does.
func compression(fs, options string) string {
	if fs != "btrfs" && fs != "f2fs" && fs != "bcachefs" {
		return ""
	}
	for o := range strings.SplitSeq(options, ",") {
		key, value, _ := strings.Cut(o, "=")
		switch key {
		case "compress", "compress-force", "compression", "compress_algorithm":
			if value != "no" && value != "none" {
				return o
			}
		}
	}
	return ""
}
