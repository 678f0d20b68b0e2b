package trial

import (
	"context"
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/record"
)

// TestSettlingIsNoTimeout: a trial whose buffered writes take longer than the plan's timeout to reach the
// storage, but go on, is done; one whose window takes longer is not.
func TestSettlingIsNoTimeout(t *testing.T) {
	ready := `echo "{\"ready\":{\"id\":\"$id\"}}"`
	// It takes five seconds, but no part of it comes near the timeout of 3.
	const slow = `n=20; while [ $n -gt 0 ]; do sleep 0.25; echo "{\"%s\":{\"id\":\"$id\",\"left\":$n}}"; n=$((n-1)); done; ` +
		`echo "{\"result\":{\"id\":\"$id\",\"elapsed\":1000000000,\"classes\":[{\"name\":\"append\",\"ops\":1,\"lat\":{\"n\":1,\"min\":7,\"max\":7,\"sum\":7,\"bins\":[[7,1]]}}]}}"`
	for message, want := range map[string]string{"settling": record.Done, "sample": record.Failed} {
		t.Run(message, func(t *testing.T) {
			t.Parallel()
			r, _, _ := newRunner(t, strings.Replace(twoClients, "blocks: 2", "blocks: 2\ntimeout: 3s", 1))
			lines := hello + strings.Replace(strings.Replace(answer, "%s", ready, 1), "%s", strings.Replace(slow, "%s", message, 1), 1)
			r.Engines["host"] = host.New(t.TempDir(), func(string, string) ([]byte, error) { return []byte(lines), nil })
			r.run = &record.Run{ID: "r1"}
			r.pool = &pool{engines: r.Engines, run: "r1", hard: r.Hard, agents: map[string]*agent.Agent{}}
			t.Cleanup(func() {
				if err := r.pool.closeAll(); err != nil {
					t.Error(err)
				}
			})
			r.choose(nil)
			cell := record.Cell{Workload: "append", Engine: "host", Place: "dir", Limits: r.Plan.Limits[0].Name, Clients: 2}
			tr, err := r.trial(t.Context(), cell, 0, 0)
			if tr.Status != want || (want == record.Failed) != errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s, %v, want it %s", tr.Status, err, want)
			}
		})
	}
}
