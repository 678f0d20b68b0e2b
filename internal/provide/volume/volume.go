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
	// Filling: its folder is made, and a process works on its data, or was killed.
	Filling Phase = "filling"
	Ready   Phase = "ready"
	// Removing: its folder goes to the trash.
	Removing Phase = "removing"
	// Deleting: its data is being deleted. It may have lost a part.
	Deleting Phase = "deleting"
	// Restoring: its folder comes back from the trash.
	Restoring Phase = "restoring"
)

// A Volume is what is recorded of one.
type Volume struct {
	Name string `json:"name"`
	Where
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
	// Grown is how often autoexpand has made it larger, and GrownBy by how many bytes since its capacity was last chosen.
	Grown   int   `json:"grown,omitempty"`
	GrownBy int64 `json:"grown_by,omitempty"`
	// Removed is when a removal began; zero for a volume that is Ready. It names the entry of the trash.
	Removed time.Time `json:"removed,omitzero"`
	// Snapshots are in the order in which they were taken.
	Snapshots []Snapshot `json:"snapshots,omitempty"`
	// Hooks run around each snapshot.
	Hooks Hooks `json:"hooks,omitzero"`
	// BackedUp is when the schedule last made a backup, and Replicated when it last sent the volume.
	BackedUp   time.Time `json:"backed_up,omitzero"`
	Replicated time.Time `json:"replicated,omitzero"`
}

// A volume that is not Ready was left so by a killed process, or another process works on it.
func (v Volume) ready() bool { return v.Phase == Ready }

// target is the folder on which the volume is mounted.
func (v Volume) target() string { return filepath.Join(v.Folder, "mount") }

// image is the file with a volume's file system. Its name is the volume's, because the kernel finds loop devices by the names of their files.
func (v Volume) image() string { return filepath.Join(v.Folder, v.Name+".img") }

// snapshots is the folder of the snapshots that are no subvolumes, and snapshot the file of one.
func (v Volume) snapshots() string         { return filepath.Join(v.Folder, "snapshots") }
func (v Volume) snapshot(id string) string { return filepath.Join(v.snapshots(), id) }

// A Use is one user of a mounted volume.
type Use struct {
	// ID is Docker's, or the user's of "plimsoll volume mount".
	ID    string    `json:"id"`
	Since time.Time `json:"since"`
	// Times is how often it has mounted the volume and not unmounted it: while a container runs, "docker cp" does both with the container's id.
	Times int `json:"times"`
}

// uses are the users of a volume in one boot of the machine: mounts don't outlive it.
type uses struct {
	Boot string `json:"boot"`
	// Note says what isn't as it should be since it was mounted, and Unheld which limits can't be set, or are not yet.
	Note   string `json:"note,omitempty"`
	Unheld string `json:"unheld,omitempty"`
	// Ending is set while the volume is unmounted: what works in it must end.
	Ending bool  `json:"ending,omitempty"`
	List   []Use `json:"list"`
}

// A Removed is a volume in the trash. Its Phase is Deleting if a part of its data may be gone.
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
