package dd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"plimsoll/internal/dialect"
	"plimsoll/internal/workload"
	"plimsoll/load"
)

// Run does the line in a session and prints dd's lines on stderr, as dd does.
func (t *Test) Run(ctx context.Context, s dialect.Session, _, stderr io.Writer) error {
	var progress func(load.Sample)
	if t.Status == "progress" {
		var bytes int64
		progress = func(p load.Sample) {
			bytes += p.Bytes
			fmt.Fprintf(stderr, "\r%s", summary(bytes, p.At, true))
		}
	}
	leave, err := dialect.Leave(s, t.Destructive, []string{t.file()})
	if err != nil {
		return err
	}
	job := t.job(s)
	job.Destructive = leave
	res, err := s.Stage(ctx, "dd", []workload.StageJob{job}, progress)
	if err != nil {
		return err
	}
	var bytes int64
	for _, c := range res.Classes {
		bytes += c.Bytes
	}
	if progress != nil {
		fmt.Fprintln(stderr)
	}
	if n := t.tail(res); n > 0 {
		fmt.Fprintf(stderr, "plimsoll: the last %d bytes of %s are less than a block of %d and were not read\n", n, t.In, t.BS)
	}
	if t.Status == "none" {
		return nil
	}
	fmt.Fprintf(stderr, "%d+0 records in\n%d+0 records out\n", bytes/t.BS, bytes/t.BS)
	if t.Status != "noxfer" {
		fmt.Fprintln(stderr, summary(bytes, res.Elapsed, false))
	}
	return nil
}

// tail is how many bytes at the end of a file dd would have read, as a part of a block.
func (t *Test) tail(res *workload.Result) int64 {
	if t.Out != null || len(res.Stage) == 0 || len(res.Stage[0].FileSizes) == 0 {
		return 0
	}
	left := res.Stage[0].FileSizes[0] - t.Skip*t.BS
	if t.Count > 0 && t.Count <= left/t.BS {
		return 0
	}
	return left % t.BS
}

// file is the side of the line that is storage.
func (t *Test) file() string {
	if t.Out == null {
		return t.In
	}
	return t.Out
}

// job is what the line asks for.
func (t *Test) job(session dialect.Session) workload.StageJob {
	if t.Out == null {
		j := load.Job{RW: load.Read, BS: t.BS, Filename: session.Path(t.In), Offset: t.Skip * t.BS, IOEngine: load.PSync}
		if t.Count > 0 {
			j.Size = t.Count * t.BS
		}
		j.Direct, j.Sync = modes(t.InFlags)
		return workload.StageJob{Name: "read", Job: j, Clip: true, Exist: workload.Must} // At the file's end dd ends, too.
	}
	j := load.Job{
		RW: load.Write, BS: t.BS, Filename: session.Path(t.Out), Offset: t.Seek * t.BS, Size: t.Count * t.BS, IOEngine: load.PSync,
		EndFsync: slices.Contains(t.Conv, "fsync") || slices.Contains(t.Conv, "fdatasync"),
	}
	j.EndDataOnly = j.EndFsync && !slices.Contains(t.Conv, "fsync")
	if t.In == zero {
		j.Data = load.DataZero
	}
	j.Direct, j.Sync = modes(t.OutFlags)
	s := workload.StageJob{Name: "write", Job: j, Size: (t.Seek + t.Count) * t.BS}
	s.Extend = slices.Contains(t.Conv, "notrunc")
	s.Truncate = !s.Extend
	switch {
	case slices.Contains(t.Conv, "nocreat"):
		s.Exist = workload.Must
	case slices.Contains(t.Conv, "excl"):
		s.Exist = workload.MustNot
	}
	return s
}

// modes are what a list of flags says of opening the file.
func modes(flags []string) (direct bool, sync string) {
	switch {
	case slices.Contains(flags, "sync"):
		sync = "sync"
	case slices.Contains(flags, "dsync"):
		sync = "dsync"
	}
	return slices.Contains(flags, "direct"), sync
}

// summary is dd's last line (print_xfer_stats of coreutils): decimal and binary size, time, and
// decimal rate. While it goes on the time is in whole seconds.
func summary(bytes int64, d time.Duration, progress bool) string {
	secs := fmt.Sprintf("%.6g", d.Seconds())
	if progress {
		secs = fmt.Sprintf("%.0f", d.Seconds())
	}
	size := fmt.Sprintf("%d bytes", bytes)
	switch si, iec := human(float64(bytes), 1000), human(float64(bytes), 1024); {
	case bytes == 1:
		size = "1 byte"
	case bytes < 1000:
	case bytes < 1024:
		size += " (" + si + ")"
	default:
		size += " (" + si + ", " + iec + ")"
	}
	rate := "Infinity B/s"
	if d > 0 {
		rate = human(float64(bytes)/d.Seconds(), 1000) + "/s"
	}
	return fmt.Sprintf("%s copied, %s s, %s", size, secs, rate)
}

// human is a number of bytes as coreutils prints it: one decimal under 10, none above,
// rounded to the nearest.
func human(n, base float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	if base == 1024 {
		units = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	}
	i := 0
	for n >= base && i < len(units)-1 {
		n /= base
		i++
	}
	text := fmt.Sprintf("%.0f", n)
	if i > 0 {
		if t := fmt.Sprintf("%.1f", n); n < 9.95 {
			text = t
		}
	}
	if text == fmt.Sprintf("%.0f", base) && i < len(units)-1 {
		text, i = "1.0", i+1
	}
	return text + " " + units[i]
}
