package workload

import (
	"strings"
	"testing"
)

// TestOverwriteShell: the path is offered so that a shell reads it as it is.
func TestOverwriteShell(t *testing.T) {
	for path, word := range map[string]string{
		"/srv/data": "/srv/data", "/srv/my data": "'/srv/my data'", "/srv/$(reboot)": "'/srv/$(reboot)'", "/srv/e\033[31m\nx": `$'/srv/e\033[31m\012x'`,
	} {
		got := (&OverwriteError{Job: "a", Path: path, What: "a block device"}).Error()
		if !strings.HasSuffix(got, "allow it with --destructive "+word) || strings.ContainsAny(got, "\033\n") {
			t.Errorf("%q; want it to end with %s", got, word)
		}
	}
}
