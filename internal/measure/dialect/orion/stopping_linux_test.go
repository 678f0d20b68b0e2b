package orion

import (
	"context"

	"plimsoll/internal/measure/dialect/dialecttest"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// stopping is a session that is interrupted after some stages.
type stopping struct {
	dialecttest.Local
	after int
	stop  func()
}

func (s *stopping) Stage(ctx context.Context, name string, jobs []workload.StageJob, onSample func(load.Sample)) (*workload.Result, error) {
	if s.after--; s.after < 0 {
		s.stop()
	}
	return s.Local.Stage(ctx, name, jobs, onSample)
}
