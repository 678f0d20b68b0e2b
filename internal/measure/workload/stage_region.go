package workload

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"

	"plimsoll/load"
)

// resolve turns the percentages of a job into bytes and clips its region. The job's files exist by now.
func (j *StageJob) resolve() error {
	if err := errors.Join(j.onDevice(), j.atEnd()); err != nil {
		return err
	}
	if apart, err := j.partsOfFiles(); apart || err != nil {
		return err
	}
	if !j.Relative() && !j.Clip && !j.Job.Append || j.Job.IOEngine == load.Null {
		return nil
	}
	least, shortest := int64(math.MaxInt64), ""
	for _, p := range j.paths() {
		n, err := fileSize(p)
		if err != nil {
			return fmt.Errorf("job %s: %w", j.Name, err)
		}
		if n < least {
			least, shortest = n, p
		}
	}
	if j.Job.Append {
		j.Job.Offset = least // Appending writes there in any case.
		return nil
	}
	return j.Within(least, shortest)
}

// Relative reports whether any of the job's settings is a percentage of its files.
func (j *StageJob) Relative() bool {
	return j.OffsetPercent > 0 || j.StepPercent > 0 || j.SizePercent > 0 || j.IOPercent > 0
}

// Within turns the percentages of a job into bytes and clips its region to its shortest file, which has least bytes.
func (j *StageJob) Within(least int64, shortest string) error {
	unit := j.Job.BS
	if unit < 1 {
		unit = 4096 // load's default
	}
	if j.OffsetPercent > 0 || j.StepPercent > 0 {
		align := cmp.Or(max(j.OffsetAlign, 0), unit)
		at := min(j.Job.Offset, least) + percent(least, j.OffsetPercent) + int64(j.Steps)*percent(least, j.StepPercent)
		j.Job.Offset = (at + align - 1) / align * align
	}
	if j.SizePercent > 0 {
		j.Job.Size = percent(least, j.SizePercent)
	}
	left := least - j.Job.Offset
	if left <= 0 {
		return fmt.Errorf("job %s: %s has %d bytes, none of them behind offset %d", j.Name, shortest, least, j.Job.Offset)
	}
	if j.Job.Size > left {
		j.Job.Size = left
		if j.Clip && !j.Job.Tail {
			j.Job.Size = left / unit * unit
		}
	}
	region := j.Job.Size
	if region == 0 {
		region = left
	}
	if region < unit && (!j.Job.Tail || region < 1) {
		return fmt.Errorf("job %s: the %d bytes after offset %d are less than one block of %d", j.Name, region, j.Job.Offset, unit)
	}
	if j.IOPercent > 0 {
		j.Job.IOSize = max(Share(region, int64(len(j.paths())), j.IOPercent), unit)
	}
	return nil
}

// onDevice ends the region of a job that fills a device at the last whole block of the device.
func (j *StageJob) onDevice() error {
	if !j.Job.Fill {
		return nil
	}
	for _, p := range j.paths() {
		st, err := os.Stat(p)
		if err != nil {
			return fmt.Errorf("job %s: %w", j.Name, err)
		}
		if st.Mode().IsRegular() {
			continue
		}
		n, err := fileSize(p)
		if err != nil {
			return fmt.Errorf("job %s: %w", j.Name, err)
		}
		if j.Job.Size > n-j.Job.Offset {
			j.Job.Size, j.Job.IOSize = 0, 0
		}
	}
	return nil
}

// atEnd moves the region to the end of the job's file; it leaves that of a device.
func (j *StageJob) atEnd() error {
	if !j.AtEnd {
		return nil
	}
	st, err := os.Stat(j.paths()[0])
	if err == nil && st.Mode().IsRegular() {
		j.Job.Offset = st.Size()
	}
	if err != nil {
		return fmt.Errorf("job %s: %w", j.Name, err)
	}
	return nil
}

// Planned is the job as far as it is known before its files exist. IOPercent becomes an IOSize, so an IOSize of one block
// stands for it.
func (j *StageJob) Planned() load.Job {
	l := j.Job
	if l.IOSize == 0 && j.IOPercent > 0 {
		l.IOSize = max(l.BS, 1)
	}
	if j.Dir != "" {
		l.Filename = j.Dir
	}
	return l
}

// paths are the job's files.
func (j *StageJob) paths() []string {
	if len(j.Job.Files) > 0 {
		return j.Job.Files
	}
	return []string{j.Job.Filename}
}

// percent is p percent of n, which is not negative.
func percent(n int64, p int) int64 { return Share(n, 1, p) }

// Share is p percent of n bytes in each of some files, or the largest int64 if that overflows. No argument is negative, and
// there is at least one file.
func Share(n, files int64, p int) int64 {
	if n > math.MaxInt64/files {
		n = math.MaxInt64
	} else {
		n *= files
	}
	hi, lo := bits.Mul64(uint64(n), uint64(p))
	if hi >= 100 {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, 100)
	return int64(min(q, math.MaxInt64))
}
