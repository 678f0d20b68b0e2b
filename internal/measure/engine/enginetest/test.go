package enginetest

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
)

// NeedRoot skips a test that needs root.
func NeedRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root is needed")
	}
}

var taken atomic.Int64

// ID is a session's ID that no other test has.
func ID() string { return fmt.Sprintf("o%d-%d", os.Getpid(), taken.Add(1)) }
