// Package disktest makes disks, partitions and file systems for tests out of files, on loop devices,
// and removes them at the test's end.
//
// Everything is found again by the test's own temporary folder, which leaktest looks for. It
// needs root; a test without it is skipped, with that as the reason.
package disktest
