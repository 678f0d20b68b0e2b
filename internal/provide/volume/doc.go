// Package volume keeps volumes: it makes, mounts, changes and removes them, each by a profile, on a backend.
//
// A volume is an entry of the journal, written before its data is made, and a folder with the data. What a killed process left is finished by the next
// call for that volume: one that was being made is removed, one that was being removed is removed. Every call holds the lock of
// the volume's name, so commands and the daemon work side by side without asking each other.
//
// A mount has users: ids that Docker makes up, or "plimsoll volume mount". They are recorded before the volume is mounted, and the last
// one unmounts it. Docker may forget one (a killed daemon) and may name one that was never seen; Reconcile removes those whose
// container is gone.
//
// Easily got wrong: a name is a folder. Checked are names, never paths. And data is never made again: a volume whose folder is
// missing is an error, since an empty volume in its place would hide the loss.
package volume
