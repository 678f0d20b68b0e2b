// Package disktest borrows disks from the kernel for tests: a file system on a loop device of the
// test's own, mounts, the kernel's counters of a device, and a control group to limit it with.
//
// Everything that a test borrows is given back at its end, even if it fails, and the test fails if
// something is left (package leaktest). If the machine lacks a capability, the test is skipped and
// names it; .ci/may-skip lists the tests that may be skipped. Only things that the test made are
// touched: by the end of a test its loop device's number may belong to another file, so
// the loop device of the test's own file is detached.
//
// For machines that a test can't borrow there are trees of files that look like their procfs and sysfs.
package disktest
