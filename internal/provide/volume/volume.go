package volume

import (
	"encoding/json"
	"path/filepath"
	"time"

	"plimsoll/internal/host/quota"
	"plimsoll/internal/provide/profile"
)

// The kinds of entries in the journal.
const (
	// Kind is that of a volume, and useKind that of its users. removedKind is that of one in the trash.
	Kind        = "volume"
	useKind     = "volume-use"
	removedKind = "removed-volume"
)

// A Phase says whether a volume's data is complete.
type Phase string

// The phases.
const (
	// Making: nothing is in it yet, and a process works on it, or was killed.
	Making Phase = "making"
	Ready  Phase = "ready"
	// Removing: the user asked to remove it.
	Removing Phase = "removing"
)

// A Volume is what is recorded of one.
type Volume struct {
	Name    string          `json:"name"`
	Backend string          `json:"backend"`
	Profile profile.Profile `json:"profile"`
	Created time.Time       `json:"created"`
	Phase   Phase           `json:"phase"`
	// Folder is an absolute path; all of the volume is in it.
	Folder string `json:"folder"`
	// Project is the number by which the file system counts a volume of the backend directory, 0 where it has no project quotas.
	Project quota.Project `json:"project,omitempty"`
	// Deduped is when its files were last looked through for equal parts.
	Deduped time.Time `json:"deduped,omitzero"`
	// Plain is set if the profile asks for encryption, may go without, and this machine had none when the volume was made.
	Plain bool `json:"plain,omitempty"`
	// Grown is how often autoexpand has made it larger.
	Grown int `json:"grown,omitempty"`
}

// target is the folder on which the volume is mounted.
func (v Volume) target() string { return filepath.Join(v.Folder, "mount") }

// image is the file with a volume's file system. Its name is the volume's, because the kernel finds loop devices by the names of their files.
func (v Volume) image() string { return filepath.Join(v.Folder, v.Name+".img") }

// A Use is one user of a mounted volume.
type Use struct {
	// ID is Docker's, or the user's of "plimsoll volume mount".
	ID    string    `json:"id"`
	Since time.Time `json:"since"`
}

// uses are the users of a volume in one boot of the machine: mounts don't outlive it.
type uses struct {
	Boot string `json:"boot"`
	// Ending is set while the volume is unmounted: what works in it must end.
	Ending bool  `json:"ending,omitempty"`
	List   []Use `json:"list"`
}

// A Removed is a volume in the trash.
type Removed struct {
	Volume
	// ID names it: other volumes of the same name may have been removed.
	ID string `json:"id"`
	// At is when it was removed, and Until when its data goes.
	At    time.Time `json:"at"`
	Until time.Time `json:"until"`
	// Trash is where its folder is.
	Trash string `json:"trash"`
}

// payload reads an entry.
func payload[T any](raw json.RawMessage) (v T, err error) {
	err = json.Unmarshal(raw, &v)
	return v, err
}
