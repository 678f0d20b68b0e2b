package workload

import (
	"fmt"
	"os"
	"time"
)

// Marks are the files that are Plimsoll's where the file system can't say so itself, by path: what a session's stages hand on to
// the next one. Each has the file's state when Plimsoll was done with it.
type Marks map[string]string

// markAge is how long ago a marked file says that it was written. Time stamps are as coarse as a tick, or a second or two: without that, data
// that somebody writes right after Plimsoll would bear the same time.
const markAge = 5 * time.Second

// stateOf is what a file's mark says: it is void when somebody else wrote to the file since.
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

// ours reports whether a file holds what Plimsoll wrote, and nothing that somebody wrote since: its mark says so, or, on a file
// system without marks, what this session remembers of it. What can't be told apart is not Plimsoll's.
func ours(f *os.File, remembered string) bool {
	noted, can := getMark(f)
	if !can {
		noted = remembered
	}
	state, err := stateOf(f)
	return err == nil && noted != "" && noted == state
}
