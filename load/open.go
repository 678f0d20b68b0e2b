package load

import (
	"fmt"
	"path/filepath"
)

// open chooses the engine, opens the file and looks whether it fits the job.
func (r *Run) open() error {
	j := &r.job
	r.engine = j.IOEngine
	if r.engine == Null {
		return nil
	}
	f, err := openTarget(*j)
	if err != nil {
		return err
	}
	r.file = f
	if err := r.fits(); err != nil {
		f.close()
		return err
	}
	if r.engine == "" {
		r.engine = strongest(filepath.Dir(j.Filename), j.Direct)
	}
	if r.engine == LinuxAIO && !j.Direct && j.IODepth > 1 {
		r.notes = append(r.notes, "linux-aio is asynchronous only with direct=1: buffered, each I/O is complete before the next is submitted")
	}
	return nil
}

// strongest returns the strongest engine that works in dir. Buffered linux-aio is
// no better than one thread of psync, so it isn't chosen for that.
func strongest(dir string, direct bool) string {
	for _, p := range ProbeEngines(dir) {
		if p.OK && p.Engine != Null && (p.Engine != LinuxAIO || direct) {
			return p.Engine
		}
	}
	return PSync
}

// region returns the size of the job's region in bytes.
func (r *Run) region() (int64, error) {
	j := r.job
	size := j.Size
	if size == 0 && r.file != nil {
		size = r.file.size - j.Offset
	}
	if size/j.BS < int64(j.NumJobs) {
		return 0, fmt.Errorf("%s: the region of %d bytes at offset %d holds less than one block of bs=%d for each of numjobs=%d", j.Filename, max(size, 0), j.Offset, j.BS, j.NumJobs)
	}
	return size, nil
}

// fits compares the job with the file: its end, its holes, its alignment.
func (r *Run) fits() error {
	j, f := r.job, r.file
	size, err := r.region()
	if err != nil {
		return err
	}
	if a := f.dioAlign; j.Direct && a > 0 && (j.BS%a != 0 || j.Offset%a != 0) {
		return &OptionError{"bs", fmt.Sprint(j.BS), fmt.Sprintf("direct I/O on %s needs bs and offset to be multiples of %d", j.Filename, a)}
	}
	if !j.reads() {
		return nil
	}
	bad := &UnwrittenError{Path: j.Filename, Offset: j.Offset, Size: size, FileSize: f.size}
	if f.size < j.Offset+size {
		return bad
	}
	info, err := f.inspect(j.Offset, size, true)
	if err != nil {
		return fmt.Errorf("%s: %w", j.Filename, err)
	}
	bad.Holes, bad.Unwritten = max(info.HoleBytes, 0), max(info.UnwrittenBytes, 0)
	if bad.Holes > 0 || bad.Unwritten > 0 {
		return bad
	}
	return nil
}
