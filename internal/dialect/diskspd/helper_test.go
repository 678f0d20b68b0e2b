package diskspd

import (
	"context"

	"plimsoll/internal/workload"
	"plimsoll/load"
)

// here is a session whose paths are the user's and that runs nothing.
type here struct{}

func (here) Path(name string) string { return name }

func (here) Stage(context.Context, string, []workload.StageJob, func(load.Sample)) (*workload.Result, error) {
	return nil, context.Canceled
}
