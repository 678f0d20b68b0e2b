package runs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/workload"
)

// TestCheckTargets: a plan's own paths are refused where there is nothing to measure, or data would be lost.
func TestCheckTargets(t *testing.T) {
	dir := t.TempDir()
	full, empty, pipe := filepath.Join(dir, "full"), filepath.Join(dir, "empty"), filepath.Join(dir, "pipe")
	for path, text := range map[string]string{full: "data", empty: ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name          string
		kind          place.Kind
		path, allowed string
		want          string
	}{
		{"missing", place.Dir, dir + "/none", "", "does not exist"},
		{"below a file", place.Dir, full + "/x", "", "not a directory"},
		{"data", place.Dir, full, "", "its data would be lost"},
		{"other allowed", place.Dir, full, empty, "its data would be lost"},
		{"empty file", place.Dir, empty, empty, "an empty file"},
		{"pipe", place.Dir, pipe, pipe, "neither"},
		{"character device", place.Dir, "/dev/null", "/dev/null", "neither"},
		{"bind of a file", place.Bind, full, full, "only a folder can be mounted"},
		{"allowed is not used", place.Dir, dir, full, "no place of the plan"},
		{"allowed", place.Dir, full, dir + "/./full", ""},
		{"folder", place.Bind, dir, "", ""},
		{"own folder", place.Dir, "", "", ""},
		{"not a path of the host", place.Volume, dir + "/none", "", ""},
	} {
		// One of the engines has the place.
		p := &plan.Plan{
			Workloads: []workload.Spec{{Name: "w"}}, Engines: []plan.EngineSpec{{Name: "h", Engine: plan.Host}, {Name: "o", Engine: plan.OCI}},
			Places: []place.Spec{{Name: "p", Kind: row.kind, Path: row.path}}, Limits: []limit.Limits{{}}, Clients: []int{1},
		}
		err := CheckTargets(p, row.allowed)
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: CheckTargets = %v, want %q", row.name, err, row.want)
		}
	}
}
