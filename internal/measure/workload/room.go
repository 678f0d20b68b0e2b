package workload

import (
	"fmt"
	"strconv"

	"plimsoll/load"
)

// blockSize is the space that the smallest file takes on the usual file systems.
const blockSize = 4 << 10

// Room returns the least number of bytes that the files of s take, and a name for them. They stay for the next trial in the
// same container; workloads that share files return the same name. Both are zero for a log whose length depends on the
// disk's speed (wal, and append with a runtime), and for an existing file.
func (s Spec) Room() (file string, bytes int64) {
	s = s.WithDefaults()
	switch s.Kind {
	case Append:
		if s.Runtime > 0 {
			return "", 0
		}
		return "append", roundUp(int64(s.Count) * s.BS)
	case Tree:
		// Each source has an output of about its size. Of repeated builds, the last two exist.
		trees := int64(2)
		if s.Runtime > 0 {
			trees = 3
		}
		return "tree " + strconv.Itoa(s.Count) + " " + strconv.FormatInt(s.BS, 10), trees * int64(s.Count) * roundUp(s.BS)
	case Command:
		if s.Command == nil || s.Command.Site == nil {
			return "", 0
		}
		// The build's output is about as large.
		site := s.Command.Site.WithDefaults()
		return "command " + site.String(), 2 * (site.Bytes + int64(site.Files)*blockSize)
	case Block:
		if s.Job.Filename != "" || s.Job.IOEngine == load.Null {
			return "", 0 // An existing file or device, or none.
		}
		bytes = s.FileBytes()
		if s.Fresh {
			return "fresh", bytes // Only one trial has it at a time.
		}
		return s.names()[0], bytes
	}
	return "", 0
}

// MaxFiles bounds the files of a block job.
const MaxFiles = 1024

// FileBytes is the size of all files of a block job together, 0 for other kinds.
func (s Spec) FileBytes() int64 {
	if s.Kind != Block && s.Kind != "" || s.Job.IOEngine == load.Null {
		return 0
	}
	return s.fileSize() * int64(max(s.Files, 1))
}

// fileSize is the size of each file.
func (s Spec) fileSize() int64 {
	if s.Job.Size == 0 {
		return s.Job.End() + defaultFile
	}
	return s.Job.End()
}

// names are the names of the files. Jobs with the same number of files of the same size share them.
func (s Spec) names() []string {
	size := s.fileSize()
	if s.Files < 2 {
		return []string{fmt.Sprintf("block-%d.dat", size)}
	}
	all := make([]string, s.Files)
	for i := range all {
		all[i] = fmt.Sprintf("block-%d-%d-of-%d.dat", size, i+1, s.Files)
	}
	return all
}

func roundUp(n int64) int64 { return (n + blockSize - 1) / blockSize * blockSize }
