//go:build !windows

package docker

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// onWindows is whether the fake of a Windows daemon is on this machine.
const onWindows = false

// archiveRoot is how Docker's client here names the folder that the worker goes to.
const archiveRoot = windowsRoot

// serveFake serves a fake of a daemon until the end of the test, and returns its address.
func serveFake(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return "tcp://" + strings.TrimPrefix(s.URL, "http://")
}
