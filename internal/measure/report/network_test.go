package report

import (
	"strings"
	"testing"

	"plimsoll/internal/measure/httpload"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// TestRequestsStandOnNoDisk: a line of ab has no data, and its report names no file system, disk or folder as what it stood on; that of a
// block job does.
func TestRequestsStandOnNoDisk(t *testing.T) {
	run, trials := everyday()
	one := trials[0]
	one.Where[0].Path = "/srv/state/data"
	run.Baseline = nil
	for _, http := range []bool{false, true} {
		if http {
			one.Spec = workload.Spec{Name: one.Spec.Name, Kind: workload.HTTP, HTTP: &httpload.Spec{Requests: 20, Concurrency: 2, Address: "127.0.0.1:80"}}
		}
		set := NewSet(built(run, []record.Trial{one}))
		for _, format := range []string{"text", "md", "html", "json"} {
			out := strings.Join(strings.Fields(render(t, format, Terminal{Full: true}, set)), " ")
			for _, stood := range []string{"ext4", "/srv/state/data"} {
				if strings.Contains(out, stood) == http {
					t.Errorf("%s of requests %t: it names %s: %t, want the opposite:\n%s", format, http, stood, http, out)
				}
			}
		}
	}
}
