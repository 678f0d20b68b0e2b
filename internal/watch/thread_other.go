//go:build !linux

package watch

// Other systems have no such calls.
const (
	callGetevents  = -1
	callPgetevents = -2
	callUringEnter = -3
	callRead       = -4
)

var eventCalls []int
