//go:build linux && !amd64

package watch

// olderEventCalls exist on amd64 only.
var olderEventCalls []int
