package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// windowsDaemon answers as a daemon of Windows containers does, as far as the commands of limits ask one. It fails the test when
// something is to be changed.
func windowsDaemon(t *testing.T) string {
	const inspect = `{"Id": "aaaaaaaaaaaa", "Name": "/web", "State": {"Status": "running", "Running": true, "Pid": 4242},
		"Config": {"Image": "nanoserver"}, "HostConfig": {"Isolation": "process"}, "Mounts": []}`
	answers := map[string]string{
		"/version":             `{"Version": "27.3.1", "ApiVersion": "1.47", "Os": "windows", "Arch": "amd64", "KernelVersion": "10.0 20348"}`,
		"/info":                `{"OSType": "windows", "OperatingSystem": "Microsoft Windows Server Version 21H2", "KernelVersion": "10.0 20348", "Isolation": "process"}`,
		"/containers/web/json": inspect, "/containers/aaaaaaaaaaaa/json": inspect,
		"/containers/json": `[{"Id": "aaaaaaaaaaaa", "Names": ["/web"]}]`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			t.Errorf("the daemon was asked: %s %s", r.Method, r.URL.Path)
		}
		w.Header().Set("Api-Version", "1.47")
		w.Header().Set("Ostype", "windows")
		w.Header().Set("Content-Type", "application/json")
		for path, body := range answers {
			if strings.HasSuffix(r.URL.Path, path) {
				fmt.Fprint(w, body)
				return
			}
		}
		if strings.HasSuffix(r.URL.Path, "/_ping") {
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"message": "no such container"}`)
	}))
	t.Cleanup(s.Close)
	return "tcp://" + strings.TrimPrefix(s.URL, "http://")
}

// TestLimitWindows: what Windows refuses is refused in its words, and before the daemon is asked.
func TestLimitWindows(t *testing.T) {
	setVariable(t, "DOCKER_HOST", windowsDaemon(t))
	const update = "docker:web: limits of a running container: resource updating isn't supported on Windows"
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"set", "docker:web", "--memory", "1GiB"}, update},
		{[]string{"set", "docker:web", "--memory", "1GiB", "--keep"}, update},
		{[]string{"set", "docker:web", "--write-bps", "1MiB", "--dry-run"}, update},
		{[]string{"set", "docker:web", "--weight", "200"}, "docker:web: BlkioWeight: invalid option: Windows does not support BlkioWeight"},
		{[]string{"clear", "docker:web"}, update},
		{[]string{"show", "docker:web"}, "docker:web can't be limited here: "},
	} {
		r := plimsoll(t, t.Context(), t.TempDir(), "", append([]string{"limit"}, row.args...)...)
		if r.status != exitCannot || !strings.Contains(r.stderr, row.want) {
			t.Errorf("%v: status %d: %s", row.args, r.status, r.stderr)
		}
	}
}
