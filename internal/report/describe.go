package report

import (
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/size"
	"plimsoll/internal/workload"
	"plimsoll/load"
)

// patterns are the words for fio's rw values.
var patterns = map[string]string{
	load.Read: "sequential read", load.Write: "sequential write",
	load.RandRead: "random read", load.RandWrite: "random write",
	load.RW: "sequential read and write", load.RandRW: "random read and write",
}

// describe says in words what I/O a workload does.
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
	case workload.Tree:
		again := ""
		if s.Runtime > 0 {
			again = ", again and again for " + size.Duration(s.Runtime)
		}
		return fmt.Sprintf("list, stat and read %s files of %s on average, write an output for each%s", commas(strconv.Itoa(s.Count)), bytesText(s.BS), again)
	case workload.Block, "":
		return describeJob(s.Job)
	}
	return string(s.Kind)
}

func describeJob(j load.Job) string {
	name, ok := patterns[j.RW]
	if !ok {
		name = j.RW
	}
	parts := []string{fmt.Sprintf("%s of %s", name, bytesText(orDefault(j.BS, 4096)))}
	add := func(yes bool, format string, args ...any) {
		if yes {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(j.RWMixRead != nil, "%d %% reads", deref(j.RWMixRead))
	// At a depth the next I/O waits for one before: a slow place is asked less, and its
	// latencies are not those of users who don't wait.
	add(j.RateIOPS == 0, "closed loop at depth %d", max(j.IODepth, 1))
	add(j.RateIOPS > 0, "depth up to %d", max(j.IODepth, 1))
	add(j.NumJobs > 1, "%d jobs", j.NumJobs)
	add(j.Direct, "direct")
	add(!j.Direct, "buffered")
	add(j.Sync != "", "O_%s", strings.ToUpper(j.Sync))
	add(j.Fsync > 0, "fsync every %s", count(j.Fsync, "write"))
	add(j.FDataSync > 0, "fdatasync every %s", count(j.FDataSync, "write"))
	add(j.EndFsync, "fsync at the end")
	add(j.RateIOPS > 0, "open loop at %d/s", j.RateIOPS)
	add(j.Size > 0, "in %s", bytesText(j.Size))
	add(j.Runtime > 0, "for %s", size.Duration(j.Runtime))
	return strings.Join(parts, ", ")
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

// bytesText prints a size exactly if it is a round one in binary units: "4 KiB".
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
