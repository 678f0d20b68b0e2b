package procfs

import (
	"fmt"
	"strconv"
	"strings"
)

// A Stat holds the fields of a process's stat file that are used here (proc_pid_stat(5)).
type Stat struct {
	// State is a letter: "R", "S", "Z".
	State string
	// Parent is the parent process.
	Parent int
	// Flags are the kernel's PF_ flags.
	Flags uint64
	// Start is when it started, in clock ticks since boot.
	Start uint64
}

// ParseStat reads the text of a stat file.
func ParseStat(text string) (s Stat, err error) {
	f := statFields(text)
	if len(f) < 20 {
		return Stat{}, fmt.Errorf("%d fields are too few", len(f))
	}
	s.State = f[0]
	if s.Parent, err = strconv.Atoi(f[1]); err != nil {
		return Stat{}, err
	}
	if s.Flags, err = strconv.ParseUint(f[6], 10, 64); err != nil {
		return Stat{}, err
	}
	s.Start, err = strconv.ParseUint(f[19], 10, 64)
	return s, err
}

// statFields returns the fields of a stat file from the third on. The second is a name in parentheses that may hold anything.
func statFields(text string) []string {
	return strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
}
