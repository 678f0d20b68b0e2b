package orion

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// Run measures the matrix in a session, prints Orion's lines on stdout and leaves its files, beside NAME.lun.
// When the run ends early the files hold what was measured up to there.
func (t *Test) Run(ctx context.Context, s dialect.Session, stdout, stderr io.Writer) error {
	var err error
	if t.leave, err = dialect.Leave(s, t.Destructive, t.LUNs); err != nil {
		return err
	}
	sizes, err := t.sizes(s)
	if err != nil {
		return err
	}
	t.warn(stderr, sizes)
	stamp, files, err := t.create(time.Now())
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, t.banner(stamp))
	all, failed := t.measure(ctx, s, stdout)
	if len(all) == 0 {
		return errors.Join(failed, discard(files))
	}
	fmt.Fprint(stdout, maxima(all))
	err = fill(files, t.contents(all, sizes))
	dialect.Note(stderr, "closed loop: the latencies are those at a fixed number of I/Os in flight; tables are in %s_%s_*", t.Name, stamp)
	return errors.Join(failed, err)
}

// measure runs the points one after the other. What was measured before an error is
// returned with it.
func (t *Test) measure(ctx context.Context, s dialect.Session, stdout io.Writer) ([]measured, error) {
	var all []measured
	for i, p := range t.matrix.points {
		name := fmt.Sprintf("small=%d large=%d", p.Small, p.Large)
		if fillUp := t.cache(s, p); fillUp != nil {
			if _, err := s.Stage(ctx, "cache before "+name, fillUp, nil); err != nil {
				return all, t.explain(err)
			}
		}
		res, err := s.Stage(ctx, name, t.jobs(s, p), nil)
		if err != nil {
			return all, t.explain(err)
		}
		if len(res.Stage) == 0 {
			return all, fmt.Errorf("%s: the session returned no results", name)
		}
		all = append(all, newMeasured(p, res))
		if t.Verbose {
			m := all[len(all)-1]
			fmt.Fprintf(stdout, "Point %d of %d: Small=%d Large=%d IOPS=%.0f Latency=%.3f us MBPS=%.2f\n",
				i+1, len(t.matrix.points), p.Small, p.Large, m.small.iops(), m.small.latency(), m.large.mbps())
		}
	}
	return all, nil
}

// explain adds to an error what a user of Orion may not know about Plimsoll.
func (t *Test) explain(err error) error {
	var direct *load.DirectError
	switch {
	case errors.As(err, &direct):
		return fmt.Errorf("%w (Orion reads and writes past the page cache)", err)
	case errors.Is(err, workload.ErrOverwrite):
		return fmt.Errorf("%w (-write overwrites the files)", err)
	case t.LUNSize == 0 && errors.Is(err, workload.ErrMissing):
		return fmt.Errorf("%w: add --lun-size SIZE", err)
	}
	return err
}

// sizes are the sizes of the LUNs in bytes, -1 where they are only known once they are measured.
func (t *Test) sizes(s dialect.Session) ([]int64, error) {
	var all []int64
	for _, l := range t.LUNs {
		path := s.Path(l)
		if !filepath.IsAbs(path) {
			n := t.LUNSize
			if n == 0 {
				n = -1
			}
			all = append(all, n)
			continue
		}
		n, err := sizeOf(path)
		switch {
		case errors.Is(err, os.ErrNotExist) && strings.HasPrefix(filepath.ToSlash(path), "/dev/"):
			// A file created there would be in memory, under the name of a device.
			return nil, fmt.Errorf("%s.lun: there is no device %s", t.Name, l)
		case errors.Is(err, os.ErrNotExist) && t.LUNSize > 0:
			n = t.LUNSize
		case errors.Is(err, os.ErrNotExist):
			return nil, fmt.Errorf("%s.lun: %s does not exist; Orion measures files and devices that are there: make it, or add --lun-size SIZE and it is made", t.Name, l)
		case err != nil:
			return nil, fmt.Errorf("%s.lun: %w", t.Name, err)
		case n == 0:
			n = t.LUNSize // An empty file is filled up like one that doesn't exist.
		}
		all = append(all, n)
	}
	return all, nil
}

// sizeOf returns the size of a file or a block device.
func sizeOf(path string) (int64, error) {
	// Opening a pipe would block until its other end is open.
	st, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if !st.Mode().IsRegular() && st.Mode().Type() != os.ModeDevice {
		return 0, fmt.Errorf("%s is neither a file nor a block device", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.Seek(0, io.SeekEnd)
}

// warn reports how files of different sizes are used, and which loads are not Orion's.
func (t *Test) warn(stderr io.Writer, sizes []int64) {
	if t.Workload == DSS {
		dialect.Note(stderr, "no published run shows the loads of -run dss; these are assumed: 1 to %d large I/Os by ones to %d, then in steps of %d (docs/reference/orion.md). -run advanced -matrix point measures a load that you name",
			dssPerDisk*t.Disks, t.Disks, t.Disks)
	}
	if least := slices.Min(sizes); least >= 0 && least < slices.Max(sizes) {
		dialect.Note(stderr, "the files in %s.lun have several sizes; of each the first %d bytes are used", t.Name, least)
	}
}

// create creates the output files before the run, so that a long run doesn't fail at its end, and returns the time in
// their names: to the minute, as in Orion, or to the second if files of that minute exist.
func (t *Test) create(now time.Time) (stamp string, files map[string]*os.File, err error) {
	for _, layout := range []string{"20060102_1504", "20060102_150405"} {
		stamp = now.Format(layout)
		if files, err = t.createAt(stamp); !errors.Is(err, os.ErrExist) {
			break
		}
	}
	return stamp, files, err
}

// createAt makes the files for one time. It overwrites none.
func (t *Test) createAt(stamp string) (map[string]*os.File, error) {
	files := map[string]*os.File{}
	for _, kind := range fileKinds {
		name := fmt.Sprintf("%s_%s_%s", t.Name, stamp, kind)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return nil, errors.Join(err, discard(files))
		}
		files[kind] = f
	}
	return files, nil
}

// discard removes empty files.
func discard(files map[string]*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close(), os.Remove(f.Name()))
	}
	return errors.Join(errs...)
}

// fill writes the files and closes them. A file that can't be written in full, as on a full disk, is removed, so that
// every file is complete.
func fill(files map[string]*os.File, text map[string]string) error {
	var errs []error
	for _, kind := range fileKinds {
		f := files[kind]
		_, err := f.WriteString(text[kind])
		if err = errors.Join(err, f.Close()); err != nil {
			errs = append(errs, err, os.Remove(f.Name()))
		}
	}
	return errors.Join(errs...)
}
