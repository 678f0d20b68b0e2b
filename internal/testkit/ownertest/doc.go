// Package ownertest notes what a test process makes on the machine that outlives it: mounts, loop devices, control groups, daemons.
// A test removes such things at its end, but not if it is killed. The next process that makes some then removes them.
//
// A process has one file of notes of each kind in the folder for temporary files, and holds it locked as long as anything in it is there.
// The kernel drops the lock when the process ends. So the process of an unlocked file has ended, and the things that the file names have no owner.
package ownertest
