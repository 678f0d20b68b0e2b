// Package step does single steps on files for another process: open this, map that, lock, rename, wait until an edit is seen.
//
// A safety check (package safety) lets two processes take steps in turn in the same place, in two containers or on both
// sides of a share, and compares what each sees. The worker runs a Process for each; it keeps files, maps, locks and watches
// between steps.
package step

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// A Call asks for one step. Which fields count depends on Op.
type Call struct {
	Op Op `json:"op"`
	// Path and To are relative to the process's folder.
	Path string `json:"path,omitempty"`
	To   string `json:"to,omitempty"`
	// File is the caller's number for an open file, which stays open until Close.
	File int `json:"file,omitempty"`
	// How selects a variant, as the Op says.
	How string `json:"how,omitempty"`
	// Offset and Length are in bytes.
	Offset int64  `json:"offset,omitempty"`
	Length int64  `json:"length,omitempty"`
	Data   []byte `json:"data,omitempty"`
	Mode   uint32 `json:"mode,omitempty"`
	UID    int    `json:"uid,omitempty"`
	GID    int    `json:"gid,omitempty"`
	// Count is how often to do it.
	Count int `json:"count,omitempty"`
	// Delay is how long to wait before the step, Wait how long the step may take.
	Delay time.Duration `json:"delay,omitempty"`
	Wait  time.Duration `json:"wait,omitempty"`
}

// An Op is a kind of step.
type Op string

// Steps on one file.
const (
	// Clock does nothing; its answer has the machine's clock.
	Clock Op = "clock"
	// PIDs answers in Names which processes have ids of one series: the boot's id and the PID namespace.
	PIDs Op = "pids"
	// Open opens Path as File. How is "r", "rw", "create" (rw, emptied) or "append".
	Open  Op = "open"
	Close Op = "close"
	// Read reads Length bytes at Offset of File; with Path, of that file, opened for it.
	Read Op = "read"
	// Write writes Data at Offset of File; with Path, it replaces that file's content in place.
	Write Op = "write"
	// Truncate sets the size of File to Length.
	Truncate Op = "truncate"
	// Map maps Length bytes of File, shared. Load and Store read and write the map.
	Map   Op = "map"
	Load  Op = "load"
	Store Op = "store"
	// Lock tries an exclusive lock on Length bytes at Offset of File. How is "posix", "ofd" or "flock", which locks the whole
	// file; "posix shared" is a shared lock. Unlock releases it.
	Lock   Op = "lock"
	Unlock Op = "unlock"
	// Stat answers what Path is. A link is followed unless How is "link".
	Stat     Op = "stat"
	Chown    Op = "chown"
	Chmod    Op = "chmod"
	Rename   Op = "rename"
	Remove   Op = "remove"
	Link     Op = "link"
	Symlink  Op = "symlink"
	Mkdir    Op = "mkdir"
	Names    Op = "names"
	SetXattr Op = "setxattr"
	// Xattr answers the value of Path's attribute To.
	Xattr Op = "xattr"
	// Fallocate reserves Length bytes for Path. Clone makes To share Path's blocks.
	Fallocate Op = "fallocate"
	Clone     Op = "clone"
)

// Steps that do something many times, or wait.
const (
	// Sync writes 4 KiB to Path and syncs them, Count times. How is "fsync" or "fdatasync". The answer has each sync's time.
	Sync Op = "sync"
	// Direct writes and reads Length bytes of Path with O_DIRECT. N is how many of them are in the page cache then, -1 if that
	// isn't known.
	Direct Op = "direct"
	// Append appends Count records of the size of Data to Path, each a copy of it with its number in the first four bytes.
	Append Op = "append"
	// Act acts on files in the folder Path, once for each of Count names, with a pause of Wait after each ten. How is "create", "modify",
	// "move" (into the folder To) or "delete". The answer has the clock before each.
	Act Op = "act"
	// Race creates Count files in Path with O_EXCL, beside another that does the same. N is how many it created.
	Race Op = "race"
	// Watch watches the folder Path with inotify. Events answers what was seen, when Count events were or Wait is over.
	Watch  Op = "watch"
	Events Op = "events"
	// Await waits until an edit of Path is seen, Wait at most. How is "content" (opened anew each time), "held" (File, which
	// was open before), "size" or "mtime". It is seen when the content is Data, or the size or the time differs from what it is
	// at the beginning. The answer has how the file was at last, and the errno ETIMEDOUT if nothing was seen.
	Await Op = "await"
	// Ticks writes Path for as long as Wait. N is the smallest difference of two modification times in ns, 0 if there was one.
	Ticks Op = "ticks"
	// List lists the folder Path for as long as Wait, and counts in Errors how often a name of To's files was missing or
	// twice. Those are Count files, named with Name. N is the number of listings.
	List Op = "list"
	// Churn creates and removes files in Path for as long as Wait. N is how many.
	Churn Op = "churn"
	// Opens opens and closes Count times one of the Length files that Act created in Path, with eight threads, for as long as
	// Wait. N is how often, Errors counts errors.
	Opens Op = "opens"
)

// Name is the name of the i-th file of Act, List and Opens.
func Name(i int) string { return fmt.Sprintf("f%05d", i) }

// An Answer is the outcome of a step.
type Answer struct {
	// Error says what failed, empty for success. Errno is the kernel's name for it, such as "EACCES", if it has one.
	Error string `json:"error,omitempty"`
	Errno string `json:"errno,omitempty"`
	N     int64  `json:"n,omitempty"`
	Data  []byte `json:"data,omitempty"`
	// Names are the names in a folder, or the target of a link.
	Names []string `json:"names,omitempty"`
	// At is the machine's CLOCK_MONOTONIC when the step ended.
	At    time.Duration   `json:"at,omitempty"`
	Times []time.Duration `json:"times,omitempty"`
	Stat  *Status         `json:"stat,omitempty"`
	// Events are what a watch saw, Errors how often each thing went wrong.
	Events []Event        `json:"events,omitempty"`
	Errors map[string]int `json:"errors,omitempty"`
}

// OK reports whether the step succeeded.
func (a *Answer) OK() bool { return a.Error == "" }

// Status is what stat(2) says of a file.
type Status struct {
	Inode uint64 `json:"inode"`
	// Mode has the type and the permissions in the kernel's form.
	Mode  uint32 `json:"mode"`
	UID   uint32 `json:"uid"`
	GID   uint32 `json:"gid"`
	Links uint64 `json:"links"`
	Size  int64  `json:"size"`
	// Allocated is in bytes.
	Allocated int64 `json:"allocated"`
	// MTime is in ns since 1970.
	MTime int64 `json:"mtime"`
}

// An Event is one event of inotify.
type Event struct {
	// What is create, modify, delete, moved_from, moved_to or overflow.
	What string        `json:"what"`
	Name string        `json:"name,omitempty"`
	At   time.Duration `json:"at"`
}

// Serve takes steps in the folder dir until in ends. It changes the process's working folder.
func Serve(dir string, in io.Reader, out io.Writer) error {
	if err := os.Chdir(dir); err != nil {
		return err
	}
	p := newProcess()
	calls, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var c Call
		if err := calls.Decode(&c); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		time.Sleep(c.Delay)
		if err := answers.Encode(p.take(c)); err != nil {
			return err
		}
	}
}
