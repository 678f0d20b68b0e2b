package dd

import (
	"fmt"
	"io"
	"os"
	"time"

	"plimsoll/load"
)

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
	return fmt.Sprintf("%s copied, %s s, %s", size, secs, rate(bytes, d))
}

// rate is bytes in a time as coreutils prints them. A quotient of whole numbers is printed as a size is (human). Any other has no unit below
// kB, and one decimal as long as it then takes up to four characters, as in 45.0: gnulib's human_readable counts them.
func rate(bytes int64, d time.Duration) string {
	switch {
	case d <= 0:
		return "Infinity B/s"
	case time.Second%d == 0 || d%time.Second == 0:
		return human(float64(bytes)/d.Seconds(), 1000) + "/s"
	}
	n, i := float64(bytes)/d.Seconds()/1000, 1
	for ; n >= 1000 && i < len(decimal)-1; i++ {
		n /= 1000
	}
	text := fmt.Sprintf("%.1f", n)
	if len(text) > len("99.9") {
		text = fmt.Sprintf("%.0f", n)
	}
	return text + " " + decimal[i] + "/s"
}

// The units of sizes.
var (
	decimal = []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	binary  = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
)

// human is a number of bytes as coreutils prints it: one decimal under 10, none above,
// rounded to the nearest.
func human(n, base float64) string {
	units := decimal
	if base == 1024 {
		units = binary
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

// progress prints the line of status=progress: one each second, over the one before; and dd's lines when it is asked for them.
type progress struct {
	w     io.Writer
	bytes int64
	// lines has the line of each second printed. asked gets a signal when dd's lines are wanted, whose blocks have bs bytes.
	lines bool
	asked <-chan os.Signal
	bs    int64
	// next is when a line is due, wide how long the last one was.
	next time.Duration
	wide int
}

// sample follows the run. A sample before the next second is the last one; the line at the end covers it.
func (p *progress) sample(s load.Sample) {
	p.bytes += s.Bytes
	select {
	case <-p.asked:
		p.end()
		p.wide = 0
		for _, side := range []string{"in", "out"} {
			fmt.Fprintf(p.w, "%d+%d records %s\n", p.bytes/p.bs, min(p.bytes%p.bs, 1), side)
		}
		fmt.Fprintln(p.w, summary(p.bytes, s.At, false))
	default:
	}
	if !p.lines || s.At < p.next {
		return
	}
	p.next += time.Second
	line := summary(p.bytes, s.At, true)
	fmt.Fprintf(p.w, "\r%-*s", p.wide, line)
	p.wide = len(line)
}

// end leaves the line, if there is one.
func (p *progress) end() {
	if p.wide > 0 {
		fmt.Fprintln(p.w)
	}
}
