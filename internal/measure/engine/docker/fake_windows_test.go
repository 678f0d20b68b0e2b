package docker

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/moby/moby/api/types/mount"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/contracttest"
	"plimsoll/internal/testkit/winetest"
)

// onWindows is whether the fake of a Windows daemon is on this machine.
const onWindows = true

// archiveRoot is how Docker's client here names the folder that the worker goes to: it turns the separators round, as it does
// for docker cp.
const archiveRoot = "C:/"

var pipes atomic.Int64

// serveFake serves a fake of a daemon on a named pipe until the end of the test, and returns its address.
func serveFake(t *testing.T, h http.Handler) string {
	t.Helper()
	return winetest.ServePipe(t, fmt.Sprintf("plimsoll-fake-%d", pipes.Add(1)), h)
}

// TestDockerWindowsBind: a folder of the host is mounted as the daemon wants it, however it is written: on another drive than
// C:, with blanks and quotes, with either separator, one more of it at the end, or none.
func TestDockerWindowsBind(t *testing.T) {
	for path, want := range map[string]string{
		`C:\bind`:             `C:\bind`,
		`D:\data`:             `D:\data`,
		`d:\data`:             `d:\data`,
		`D:\data\`:            `D:\data`,
		`D:/data/with blanks`: `D:\data\with blanks`,
		`D:\it's one\..\two`:  `D:\two`,
		`D:\`:                 `D:`,
	} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		f := &windowsFake{}
		e := New(Options{Host: serveFake(t, contracttest.Record(t, f)), StateDir: `C:\state`, Worker: windowsWorker})
		_, err := e.Open(t.Context(), engine.Spec{ID: "a-1", Image: "nano", Place: place.Spec{Kind: place.Bind, Path: path}})
		if len(f.created) != 1 {
			t.Errorf("bind of %s: %v, and %d containers", path, err, len(f.created))
			continue
		}
		var body struct {
			HostConfig struct{ Mounts []mount.Mount }
		}
		if err := json.Unmarshal([]byte(f.created[0]), &body); err != nil {
			t.Fatal(err)
		}
		m := body.HostConfig.Mounts
		if len(m) != 1 {
			t.Fatalf("bind of %s mounts %+v, want one", path, m)
		}
		if m[0].Type != mount.TypeBind || m[0].Source != want+`\plimsoll-a-1` {
			t.Errorf("bind of %s is the %s of %s, want %s", path, m[0].Type, m[0].Source, want)
		}
		if !strings.HasPrefix(m[0].Target, `C:\plimsoll-data-`) {
			t.Errorf("bind of %s goes to %s", path, m[0].Target)
		}
		if left, _ := filepath.Glob(filepath.Join(path, "plimsoll-*")); len(left) > 0 {
			t.Errorf("bind of %s left %q", path, left)
		}
	}
}
