package journal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/conf/controlfile"
	"plimsoll/internal/host/procfs"
)

// An Entry is one recorded thing.
type Entry struct {
	// Kind says what the thing is, in one word, such as "loop-disk", and ID which one.
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Owner is the process that made it; zero for an entry that belongs to no process. Made is when the owner last wrote it.
	Owner procfs.Process `json:"owner"`
	Made  time.Time      `json:"made"`
	// Sweeper is the process that undoes it since the owner ended, or that was killed as it did; nil if there is none.
	Sweeper *procfs.Process `json:"sweeper,omitempty"`
	// Lock is the name of its process's lock file in the journal's folder. It is empty where there are no locks.
	Lock string `json:"lock,omitempty"`
	// Payload is what the kind needs to undo it or to go on.
	Payload json.RawMessage `json:"payload"`
}

// Kept reports whether the entry belongs to no process: see Keep.
func (e Entry) Kept() bool { return e.Owner == procfs.Process{} }

// Process is the process that the entry belongs to: its owner, or the sweeper of one that has ended.
func (e Entry) Process() procfs.Process {
	if e.Sweeper != nil {
		return *e.Sweeper
	}
	return e.Owner
}

// newEntry returns an entry that its owner makes now.
func newEntry(kind, id string, owner procfs.Process, payload any) (Entry, error) {
	if _, ok := KindOf(kind); !ok || id == "" {
		return Entry{}, fmt.Errorf("%q, %q: these are no kind and id", kind, id)
	}
	b, err := json.Marshal(payload)
	return Entry{Kind: kind, ID: id, Owner: owner, Made: time.Now().UTC(), Payload: b}, err
}

// An OwnedError is the error of a change of an entry that another living process owns.
type OwnedError struct{ Entry Entry }

func (e *OwnedError) Error() string {
	return fmt.Sprintf("%s %s belongs to process %d, which still runs", e.Entry.Kind, e.Entry.ID, e.Entry.Process().PID)
}

// A DamagedError reports a file that is not an entry. The file stays: it may be the only trace of a thing. An entry of
// a folder that this user may not read is not damaged.
type DamagedError struct {
	Path string
	// ID is the id that the file's name stands for.
	ID  string
	Err error
}

func (e *DamagedError) Error() string {
	kind, _ := KindOf(filepath.Base(filepath.Dir(e.Path)))
	return fmt.Sprintf("%s: %v; %s", e.Path, e.Err, cmp.Or(kind.Damaged, "it records something to be undone: check what it names, then remove it"))
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Damaged divides a joined error, such as that of Entries, into the damaged entries and the other errors.
func Damaged(err error) (damaged []*DamagedError, other error) {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range all.Unwrap() {
			d, o := Damaged(err)
			damaged, other = append(damaged, d...), errors.Join(other, o)
		}
		return damaged, other
	}
	var d *DamagedError
	if errors.As(err, &d) {
		return []*DamagedError{d}, nil
	}
	return nil, err
}

// Get returns one entry. The error wraps fs.ErrNotExist if there is none, and is a DamagedError if it can't be read.
func (j *Journal) Get(kind, id string) (Entry, error) {
	if j.dir == "" {
		return Entry{}, fs.ErrNotExist
	}
	return j.read(kind, id)
}

// Entries lists the entries of a kind by id, including those of living owners. The error joins a DamagedError for
// each file that can't be read; the others are listed nevertheless.
func (j *Journal) Entries(kind string) (list []Entry, err error) {
	if j.dir == "" {
		return nil, nil
	}
	files, err := os.ReadDir(filepath.Join(j.dir, kind))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var errs []error
	known := j.readBefore(kind)
	for _, f := range files {
		escaped, ok := strings.CutSuffix(f.Name(), ".json")
		id, err := url.PathUnescape(escaped)
		if !ok || strings.HasPrefix(f.Name(), ".") || err != nil {
			continue // The entry is being written.
		}
		e, err := known.read(j, kind, id, f)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			errs = append(errs, err)
		default:
			list = append(list, e)
		}
	}
	known.keep(j, kind)
	return list, errors.Join(errs...)
}

// inJSON returns an id as JSON carries it, which replaces what is not UTF-8: the name of a control group may contain any bytes.
func inJSON(id string) (s string) {
	b, err := json.Marshal(id)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return ""
	}
	return s
}

// Kinds lists the kinds that have entries.
func (j *Journal) Kinds() (kinds []string, err error) {
	if j.dir == "" {
		return nil, nil
	}
	files, err := os.ReadDir(j.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range files {
		if f.IsDir() {
			kinds = append(kinds, f.Name())
		}
	}
	return kinds, nil
}

// entryMax bounds the size of an entry's file, in bytes: no entry is that large.
const entryMax = 16 << 20

// Path is the file of an entry. A leading dot is escaped too: temporary files begin with one.
func (j *Journal) Path(kind, id string) string {
	name := url.PathEscape(id) + ".json"
	if name[0] == '.' {
		name = "%2E" + name[1:]
	}
	return filepath.Join(j.dir, kind, name)
}

// read reads an entry. The error wraps fs.ErrNotExist if there is none, and is a DamagedError if the file is not an
// entry.
func (j *Journal) read(kind, id string) (e Entry, err error) {
	path := j.Path(kind, id)
	b, err := controlfile.Read(path, entryMax)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR) {
		return e, err
	}
	if err == nil {
		err = json.Unmarshal(b, &e)
	}
	if err == nil && e.ID != id && e.ID == inJSON(id) {
		e.ID = id // The file's name carries any bytes.
	}
	// The path is named once.
	var special *controlfile.Error
	var file *fs.PathError
	if errors.As(err, &special) {
		err = errors.New("it " + special.Why)
	} else if errors.As(err, &file) {
		err = file.Err
	}
	if err == nil && (e.Kind != kind || e.ID != id || e.Lock != filepath.Base(e.Lock) && e.Lock != "") {
		err = errors.New("it is not an entry of that name")
	}
	if err != nil {
		return Entry{}, &DamagedError{path, id, err}
	}
	return e, nil
}
