//go:build !linux

package watch

// Nothing waits in calls of Linux elsewhere.
const (
	callGetevents  = -1
	callPgetevents = -2
	callUringEnter = -3
	callRead       = -4
)

var eventCalls []int
