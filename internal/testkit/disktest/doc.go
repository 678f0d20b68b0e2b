// Package disktest gives tests disks: a file system on a loop device of the test's own, mounts, the kernel's counters of a device,
// and a control group to limit it with.
//
// Everything is removed at the end of the test, even if the test fails. The test fails if something is left (package leaktest). If
// the machine lacks a capability, the test is skipped and names it; .ci/may-skip lists the tests that may be skipped. Only the
// test's own things are touched: by the end of a test another file may have its loop device's number, so the loop device is found by
// the test's own file.
//
// For machines that a test can't make there are trees of files like their procfs and sysfs.
package disktest
