// Package loop attaches files to loop devices.
//
// A loop device shows a file as a disk. The kernel detaches the device when nothing has it open or mounted any more
// (LO_FLAGS_AUTOCLEAR). So it doesn't outlive a process that is killed, and needs no record.
//
// Two devices on one file corrupt it: each has a page cache of its own. So look with Find before Attach, under a lock of the file.
//
// The format is include/uapi/linux/loop.h.
package loop
