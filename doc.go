// Package plimsoll is the root of Plimsoll, which measures what a place can
// carry, holds containers to their limits, and provides volumes that keep what
// they promise.
//
// The command is cmd/plimsoll; the program that does the I/O inside a container
// is cmd/worker. Two packages are promised to others: hist, a latency histogram
// in fio's layout, and load, the load generator. Everything else lives in
// internal/ and may change at any time.
//
// Data flows one way:
//
//	plan -> trial -> store -> stats -> report
//	          |
//	        engine -> agent -> (worker: workload -> load) on a place
//
// CONTRIBUTING.md says what each room of internal/ holds.
package plimsoll
