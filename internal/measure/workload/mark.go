package workload

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Marks lists Plimsoll's files by path, for file systems that can't mark them. Each entry is the file's state when Plimsoll
// was done with it. Each stage of a session passes them to the next one.
type Marks map[string]string

// markAge is how far Plimsoll sets back the modification time of a marked file. Time stamps are as coarse as a tick, or a
// second or two: otherwise data that another program writes right after Plimsoll could have the same time.
const markAge = 5 * time.Second

// markLead is how much later than its mark a file may have been changed last: setting the mark changes it, too, at a time
// that is known only afterwards.
const markLead = 20 * time.Millisecond

// exactState is a file's length and the times of its last write and last change. If it differs, the file was written to.
func exactState(f *os.File) (string, error) {
	state, changed, err := stateOf(f)
	return fmt.Sprintf("%s %d", state, changed), err
}

// stateOf is a file's length with the time of its last write, and the time of its last change (ctime) in nanoseconds since
// 1970, which no program can set.
func stateOf(f *os.File) (state string, changed int64, err error) {
	st, err := f.Stat()
	if err != nil {
		return "", 0, err
	}
	if !st.Mode().IsRegular() {
		return "", 0, fmt.Errorf("%s is not a regular file", f.Name())
	}
	return stateText(st), changeTime(st), nil
}

// mark notes in a file that its present data is Plimsoll's. If the file system has no such attributes, it returns the state
// that the session has to remember instead, else "".
func mark(f *os.File) (remember string) {
	if age(f, time.Now().Add(-markAge)) != nil {
		return ""
	}
	for lead := markLead; lead < time.Minute; lead *= 8 {
		state, changed, err := stateOf(f)
		if err != nil {
			return ""
		}
		until := time.Now().Add(lead).UnixNano()
		if !setMark(f, fmt.Sprintf("%s %d", state, until)) {
			return fmt.Sprintf("%s %d", state, changed)
		}
		if _, changed, err = stateOf(f); err != nil || changed <= until {
			return ""
		}
	}
	return ""
}

// ours reports whether a file has only data that Plimsoll wrote: by its mark or, on a file system without marks, by what
// this session remembers of it. If neither decides, the file is not Plimsoll's, and why says the reason.
func ours(f *os.File, k known) (own bool, why string) {
	noted, can := getMark(f)
	if !can {
		noted = k.remembered
	}
	if k.busy {
		return false, ", which another program has open for writing"
	}
	switch {
	case noted == "" && !can:
		return false, ", which Plimsoll can't recognise as its own on this file system"
	case noted == "":
		return false, " that Plimsoll did not make"
	}
	const since = ", which was changed, copied or renamed after Plimsoll made it"
	state, changed, err := stateOf(f)
	if err != nil {
		return false, since
	}
	until, found := strings.CutPrefix(noted, state+" ")
	last, err := strconv.ParseInt(until, 10, 64)
	if !found || err != nil || changed > last {
		return false, since
	}
	return true, ""
}
