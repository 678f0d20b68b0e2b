package workload

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/load"
)

// fileSize is the length of a file or block device.
func fileSize(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.Seek(0, io.SeekEnd)
}

// invalidate drops the job's files from the page cache. It writes dirty pages first, because dirty or mapped pages stay
// (posix_fadvise(2)).
func (j *StageJob) invalidate() error {
	if !j.Invalidate || j.Job.IOEngine == load.Null {
		return nil
	}
	for _, p := range j.paths() {
		f, err := os.Open(p)
		if err != nil {
			return fmt.Errorf("job %s: %w", j.Name, err)
		}
		err = fdatasync(int(f.Fd()))
		if err == nil {
			err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		}
		f.Close()
		if err != nil {
			return fmt.Errorf("job %s: %s can't be dropped from the page cache: %w; use invalidate=0", j.Name, p, err)
		}
	}
	return nil
}
