package workload

import (
	"fmt"
	"os"
	"time"
)

// Marks lists Plimsoll's files by path, for file systems that can't mark them: each stage of a session passes it to
// the next one. Each has the file's state when Plimsoll was done with it.
type Marks map[string]string

// markAge is how long ago a marked file says that it was written. Time stamps are as coarse as a tick, or a second or two: without that, data
// that another program writes right after Plimsoll would have the same time.
const markAge = 5 * time.Second

// stateOf is the state in a file's mark: it is void if another program has written to the file since.
func stateOf(f *os.File) (string, error) {
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", f.Name())
	}
	return stateText(st), nil
}

// mark notes in a file that what it holds now is Plimsoll's. Where the file system has no such attributes it returns what a
// session has to remember instead, else "".
func mark(f *os.File) (remember string) {
	if age(f, time.Now().Add(-markAge)) != nil {
		return ""
	}
	state, err := stateOf(f)
	if err != nil || setMark(f, state) {
		return ""
	}
	return state
}

// ours reports whether a file holds only what Plimsoll wrote, and nothing that another program wrote since: by its mark or, on a file
// system without marks, by what this session remembers of it. If neither decides, the file is not Plimsoll's.
func ours(f *os.File, remembered string) bool {
	noted, can := getMark(f)
	if !can {
		noted = remembered
	}
	state, err := stateOf(f)
	return err == nil && noted != "" && noted == state
}
