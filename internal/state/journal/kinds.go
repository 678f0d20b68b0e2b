package journal

import "slices"

// A Kind says what the entries of one kind record.
type Kind struct {
	Name string
	// Thing is the thing in words.
	Thing string
	// Undone says what removes an entry whose owner was killed. It is empty if all entries of the kind are kept.
	Undone string
	// Kept says what removes an entry that belongs to no process. It is empty if each has an owner.
	Kept string
	// Damaged says what removes an entry that can't be read; empty if the user has to look.
	Damaged string
}

// Kinds are all kinds of entries. Put and Keep refuse any other. A test that kills the owner at every write covers each kind: see killtest.Test.
var Kinds = []Kind{
	{Name: "container-limits", Thing: "limits that the daemon has set on a container", Kept: "the next daemon takes them over"},
	{Name: "device-limit", Thing: "a limit of a device for all its users", Undone: "hold.SweepRuns removes it", Kept: "limit clear, the daemon that has set it, or the unmount of its volume, removes it",
		Damaged: "the root group's files blkio.throttle.*_device show its limits, and plimsoll limit clear TARGET --device DISK --device-wide removes them"},
	{Name: "disk-weights", Thing: "a scheduler or iocost that limit set has enabled", Kept: "limit clear restores what was there"},
	{Name: "docker-session", Thing: "the folders of a container", Undone: "the engine's Sweep removes them"},
	{Name: "group-limits", Thing: "limits that the daemon has set on a group", Kept: "the next daemon takes them over"},
	{Name: "host-session", Thing: "the folders and the group of a worker on the host", Undone: "the engine's Sweep removes them"},
	{Name: "keeper", Thing: "a running daemon", Undone: "keeper.Sweep removes the entry alone"},
	{Name: "limit-set", Thing: "limits that limit set has set in groups", Kept: "limit clear removes them"},
	{Name: "loop-disk", Thing: "a disk of a run", Undone: "loopdisk.Undo unmounts and deletes it"},
	{Name: "oci-session", Thing: "a container of an OCI runtime, its folders and groups", Undone: "the engine's Sweep removes them"},
	{Name: "removed-volume", Thing: "a removed volume whose data is still there", Kept: "plimsoll volume restore brings it back; the daemon, and the next volume rm, delete it when its time is over",
		Damaged: "the volume's data is in the folder .removed beside the volumes: move it away if you need it, then remove this record"},
	{Name: "selfcheck-session", Thing: "the folder and the limited group of a selfcheck", Undone: "selfcheck.Sweep removes them"},
	{Name: "vm-session", Thing: "a virtual machine, its folders, daemons and group", Undone: "the engine's Sweep removes them"},
	{Name: "volume", Thing: "a volume", Kept: "plimsoll volume rm removes it",
		Damaged: "the volume's data is in the folder of its name (volumes, in the state folder): move that away, then remove this record"},
	{Name: "volume-use", Thing: "the mounts of a volume that were asked for", Kept: "the last unmount removes it",
		Damaged: "it lists who has mounted the volume: stop its containers, then remove this record"},
}

// KindOf returns the kind of that name; false if there is none.
func KindOf(name string) (Kind, bool) {
	if i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == name }); i >= 0 {
		return Kinds[i], true
	}
	return Kind{}, false
}
