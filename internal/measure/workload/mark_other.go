//go:build !linux

package workload

import (
	"os"
	"strconv"
	"time"
)

// setMark reports that there are no marks here.
func setMark(*os.File, string) bool { return false }

// getMark reports that there are no marks here.
func getMark(*os.File) (state string, can bool) { return "", false }

// age changes nothing.
func age(*os.File, time.Time) error { return nil }

// stateText is the length of a file. Windows may set the time of the last write as late as the last handle is closed. It is for
// the stages of one session only.
func stateText(st os.FileInfo) string { return strconv.FormatInt(st.Size(), 10) }

// changeTime is not known here.
func changeTime(os.FileInfo) int64 { return 0 }
