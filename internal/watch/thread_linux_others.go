//go:build linux && !amd64

package watch

// olderEventCalls are those of amd64.
var olderEventCalls []int
