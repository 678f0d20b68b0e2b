// Package ownertest records the things that a test process makes on the machine and that outlive the process: mounts, loop devices,
// control groups, daemons. A test removes them at its end, but not if it is killed. Then the next process that makes some removes
// them.
//
// A process has one file of notes of each kind in the folder for temporary files, and keeps it locked as long as any of these
// things exist. The kernel drops the lock when the process ends. So if a file is unlocked, its process has ended, and the things in
// it have no owner.
package ownertest
