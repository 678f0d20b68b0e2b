package load

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// paths returns the job's files.
func (j Job) paths() []string {
	if len(j.Files) > 0 {
		return j.Files
	}
	return []string{j.Filename}
}

func (j Job) path(i int) string { return j.paths()[i] }

// open chooses the engine, opens the files and checks that they fit the job.
func (r *Run) open() error {
	j := &r.job
	r.engine = j.IOEngine
	if r.engine == Null {
		return nil
	}
	for i, path := range j.paths() {
		f, err := openTarget(*j, path)
		if err != nil {
			return err
		}
		if i < len(r.looked) && r.looked[i] != nil {
			if err := f.mustBe(r.looked[i]); err != nil {
				return errors.Join(err, f.close())
			}
		}
		if j.Tail && j.Direct {
			f.ask = j.BS // Direct I/O can't be shorter.
		}
		r.files = append(r.files, f)
	}
	if err := r.fits(); err != nil {
		return err
	}
	if r.engine == "" {
		r.engine = r.strongest()
	}
	if r.engine == LinuxAIO && !j.Direct && j.IODepth > 1 {
		r.notes = append(r.notes, "linux-aio is asynchronous only with direct=1: buffered, each I/O is complete before the next is submitted")
	}
	return nil
}

// strongest returns the strongest engine that works on the job's first file. It tries each on a scratch file beside
// that one. A device has no folder for a scratch file, and some folders can't be written: there it reads the file
// itself. Buffered linux-aio is no better than one thread of psync, so it isn't chosen for that.
func (r *Run) strongest() string {
	path, direct := r.job.path(0), r.job.Direct
	usable := func(name string) bool { return name != Null && (name != LinuxAIO || direct) }
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
		for _, p := range ProbeEngines(filepath.Dir(path)) {
			if p.OK && usable(p.Engine) {
				return p.Engine
			}
		}
	}
	var last error
	for _, name := range engineNames {
		if !usable(name) {
			continue
		}
		if last = tryReading(name, path, direct); last == nil {
			return name
		}
	}
	r.notes = append(r.notes, fmt.Sprintf("no I/O engine could be tried beforehand, so psync is used: %s", reason(last)))
	return PSync
}

// region returns the size of the job's region in bytes; with offset_increment, that of each of the NumJobs.
func (r *Run) region() (int64, error) {
	j := r.job
	size := j.Size
	if size == 0 && len(r.files) > 0 {
		size = r.files[0].size
		for _, f := range r.files {
			size = min(size, f.size)
		}
		size -= j.Offset + int64(j.NumJobs-1)*j.OffsetIncrement
	}
	need := int64(1)
	if j.sliced() {
		need = int64(j.NumJobs)
	}
	if n := int64(j.NumJobs-1) * j.StartIncrement; n+j.maxBlock() > size && n > 0 {
		return 0, &OptionError{"start_increment", fmt.Sprint(j.StartIncrement), fmt.Sprintf("the last of numjobs=%d would start beyond the region of %d bytes", j.NumJobs, size)}
	}
	if size < j.maxBlock() && !j.Tail || int64(j.blocks(size)) < need {
		return 0, fmt.Errorf("%s: the region of %d bytes at offset %d holds less than one block of bs=%d for each of numjobs=%d", j.path(0), max(size, 0), j.Offset, j.maxBlock(), j.NumJobs)
	}
	return size, nil
}

// fits checks the files against the job: their length, holes and alignment.
func (r *Run) fits() error {
	j := r.job
	size, err := r.region()
	if err != nil {
		return err
	}
	size += int64(j.NumJobs-1) * j.OffsetIncrement
	for i, f := range r.files {
		if len(j.Sizes) > 0 && j.Sizes[i] < j.room() {
			continue // It is skipped.
		}
		if err := f.fits(j, j.sizeOf(i, size)); err != nil {
			return err
		}
	}
	return nil
}

// fits checks size bytes of the file, from the job's offset, against the job.
func (f *target) fits(j Job, size int64) error {
	if a := f.dioAlign; j.Direct && a > 0 && (j.BS%a != 0 || j.Offset%a != 0 || j.align()%a != 0) {
		return &OptionError{"bs", fmt.Sprint(j.BS), fmt.Sprintf("direct I/O on %s needs bs and offset to be multiples of %d", f.path, a)}
	}
	if !j.Reads() {
		return nil
	}
	bad := &UnwrittenError{Path: f.path, Offset: j.Offset, Size: size, FileSize: f.size}
	if f.size < j.Offset+size {
		return bad
	}
	info, err := f.inspect(j.Offset, size, true)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	f.expect(j, info.Resident)
	bad.Holes, bad.Unwritten = max(info.HoleBytes, 0), max(info.UnwrittenBytes, 0)
	if bad.Holes > 0 || bad.Unwritten > 0 {
		return bad
	}
	return nil
}
