// Package disktest borrows disks from the kernel for tests: a file system on a loop device of the
// test's own, mounts, the kernel's counters of a device, and a control group to limit it with.
//
// All that a test borrows goes back at its end, also when it fails, and the test fails if
// something stays (package leaktest). A machine that can't lend it skips the test with the
// capability that is missing; .ci/may-skip says where that is no excuse. Nothing is touched
// that the test did not make: a loop device's number may be another's by the time of the end,
// so what is detached is that of the test's own file.
//
// For machines that a test can't borrow there are trees of files that look like their procfs and sysfs.
package disktest
