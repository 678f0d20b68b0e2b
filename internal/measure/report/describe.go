package report

import (
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/size"
	"plimsoll/load"
)

// patterns are the words for fio's rw values.
var patterns = map[string]string{
	load.Read: "sequential read", load.Write: "sequential write",
	load.RandRead: "random read", load.RandWrite: "random write",
	load.RW: "sequential read and write", load.RandRW: "random read and write",
}

// describe says what I/O a workload does.
func describe(s workload.Spec) string {
	switch s.Kind {
	case workload.Append:
		often := commas(strconv.Itoa(s.Count)) + " times"
		if s.Runtime > 0 {
			often = "for " + size.Duration(s.Runtime)
		}
		return fmt.Sprintf("open, append %s, close: %s", bytesText(s.BS), often)
	case workload.WAL:
		return fmt.Sprintf("append %s and fdatasync, as a database commits, for %s", bytesText(s.BS), size.Duration(s.Runtime))
	case workload.HTTP:
		if h := s.HTTP; h != nil {
			kept := ""
			if h.KeepAlive {
				kept = " that are kept open"
			}
			return fmt.Sprintf("%s requests of %s over %s%s: a closed loop", commas(strconv.Itoa(h.Requests)), h.Address, size.Plural(h.Concurrency, "connection"), kept)
		}
	case workload.Tree:
		again := ""
		if s.Runtime > 0 {
			again = ", again and again for " + size.Duration(s.Runtime)
		}
		return fmt.Sprintf("list, stat and read %s files of %s on average, write an output for each%s%s", commas(strconv.Itoa(s.Count)), bytesText(s.BS), again, readsText(s.Reads))
	case workload.Command:
		if c := s.Command; c != nil {
			text := "run " + strings.Join(c.Argv, " ")
			if c.Site != nil {
				text += fmt.Sprintf(" on a site of %s in %s files of %s", size.Plural(c.Site.Posts, "post"), commas(strconv.Itoa(c.Site.Files)), bytesText(c.Site.Bytes))
			}
			return text + readsText(s.Reads)
		}
	case workload.Block, "":
		return describeJob(s.Job, s.Files, s.Steady)
	}
	return string(s.Kind)
}

// readsText says how the sources are read.
func readsText(reads string) string {
	switch reads {
	case workload.Cold:
		return "; cold: the sources are dropped from the page cache before"
	case workload.Warm:
		return "; warm: the sources are read once before"
	}
	return ""
}

func describeJob(j load.Job, files int, s workload.SteadyState) string {
	name, ok := patterns[j.RW]
	if !ok {
		name = j.RW
	}
	parts := []string{fmt.Sprintf("%s of %s", name, sizesText(j))}
	add := func(yes bool, format string, args ...any) {
		if yes {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(j.RWMixRead != nil, "%d %% reads", deref(j.RWMixRead))
	// In a closed loop, each I/O waits for an earlier one. A slow place gets fewer requests, and its latencies are not
	// those of users who don't wait.
	add(!j.OpenLoop(), "closed loop at depth %d", max(j.IODepth, 1))
	add(j.OpenLoop(), "depth up to %d", max(j.IODepth, 1))
	add(j.NumJobs > 1, "%d jobs", j.NumJobs)
	add(j.Direct, "direct")
	add(!j.Direct, "buffered")
	add(j.Sync != "", "O_%s", strings.ToUpper(j.Sync))
	add(j.Fsync > 0, "fsync every %s", size.Plural(j.Fsync, "write"))
	add(j.FDataSync > 0, "fdatasync every %s", size.Plural(j.FDataSync, "write"))
	add(j.EndFsync, "fsync at the end")
	open := j.OpenLoop()
	add(!open && j.RateIOPS > 0, "%ss at most %d/s%s", j.RateOnly, j.RateIOPS, process(j))
	add(!open && j.Rate > 0, "%ss at most %s/s%s", j.RateOnly, bytesText(j.Rate), process(j))
	apart := j.WriteRateIOPS > 0 || j.WriteRate > 0
	add(open && apart && j.RateIOPS > 0, "open loop at %d reads and %d writes/s%s, latencies from when an I/O was due", j.RateIOPS, j.WriteRateIOPS, process(j))
	add(open && apart && j.Rate > 0, "open loop at %s/s of reads and %s/s of writes%s, latencies from when an I/O was due", bytesText(j.Rate), bytesText(j.WriteRate), process(j))
	open = open && !apart
	add(open && j.RateIOPS > 0, "open loop at %d/s%s, latencies from when an I/O was due", j.RateIOPS, process(j))
	add(open && j.Rate > 0, "open loop at %s/s%s, latencies from when an I/O was due", bytesText(j.Rate), process(j))
	add(j.ThinkTime > 0 && j.ThinkTimeBlocks <= 1, "a pause of %s after each I/O", size.Duration(j.ThinkTime))
	add(j.ThinkTime > 0 && j.ThinkTimeBlocks > 1, "a pause of %s after every %d I/Os", size.Duration(j.ThinkTime), j.ThinkTimeBlocks)
	add(j.Distribution != "", "offsets by %s", j.Distribution)
	add(j.PercentageRandom != nil && *j.PercentageRandom < 100, "%d %% at random offsets", deref(j.PercentageRandom))
	add(j.PercentageRandomWrites != nil, "%d %% of the writes at random offsets", deref(j.PercentageRandomWrites))
	add(j.BlockAlign > 0, "aligned to %s", bytesText(j.BlockAlign))
	add(j.Data == load.DataZero, "of zeros")
	add(j.Data == load.DataFixed, "of one block for each I/O in flight")
	add(j.Data == load.DataPattern, "of a pattern of %s", size.Plural(len(j.Pattern), "byte"))
	add(len(j.CPUs) > 0, "on processors %s", strings.Trim(fmt.Sprint(j.CPUs), "[]"))
	add(j.Compress > 0, "%d %% zeros", j.Compress)
	add(j.Dedupe > 0, "%d %% copies", j.Dedupe)
	add(j.Verify, "verified")
	add(j.Size > 0 && files < 2, "in %s", bytesText(j.Size))
	add(j.Size > 0 && files > 1, "in %d files of %s", files, bytesText(j.Size))
	add(j.IOEngine == load.MMap, "through a mapping")
	add(j.IOEngine == load.Null, "without I/O, which shows the generator itself")
	add(j.Loops > 1, "%d times", j.Loops)
	add(j.Runtime > 0 && s.Round == 0, "for %s", size.Duration(j.Runtime))
	add(s.Round > 0, "until five rounds of %s are steady, for %s at most", size.Duration(s.Round), size.Duration(j.Runtime))
	return strings.Join(parts, ", ")
}

// sizesText lists the sizes of a job's I/Os: "4 KiB", "4 KiB (60 %) and 64 KiB (40 %)".
func sizesText(j load.Job) string {
	split := func(all []load.SizeShare) string {
		var parts []string
		for _, e := range all {
			parts = append(parts, fmt.Sprintf("%s (%s %%)", bytesText(e.Size), strconv.FormatFloat(e.Percent, 'g', 4, 64)))
		}
		return strings.Join(parts, " and ")
	}
	reads, writes := split(j.ReadSplit), split(j.WriteSplit)
	switch {
	case reads == "" && writes == "":
		return bytesText(orDefault(j.BS, 4096))
	case reads == "" || reads == writes:
		return writes
	case writes == "":
		return reads
	}
	return "reads " + reads + ", writes " + writes
}

// process says how the I/Os of an open loop arrive, unless evenly.
func process(j load.Job) string {
	if j.RateProcess == load.Poisson {
		return " at random times"
	}
	return ""
}

func deref(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}

func orDefault(n, def int64) int64 {
	if n == 0 {
		return def
	}
	return n
}

// bytesText prints a size, exactly if it is round in binary units: "4 KiB".
func bytesText(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	i, v := 0, n
	for i < len(units)-1 && v >= 1024 && v%1024 == 0 {
		v /= 1024
		i++
	}
	if i == 0 && n > 1<<20 {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%s %s", commas(strconv.FormatInt(v, 10)), units[i])
}
