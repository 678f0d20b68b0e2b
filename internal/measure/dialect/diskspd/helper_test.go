package diskspd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// here is a session whose paths are the user's and that runs nothing.
type here struct{}

func (here) Path(name string) string { return name }

func (here) Stage(context.Context, string, []workload.StageJob, func(load.Sample)) (*workload.Result, error) {
	return nil, context.Canceled
}

// tempDir is a folder that is emptied as Wine 8 can: it has no FileDispositionInformationEx, by which
// os.RemoveAll does it.
func tempDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		for _, f := range files {
			err = errors.Join(err, os.Remove(f))
		}
		if err = errors.Join(err, os.Remove(dir)); err != nil {
			t.Error(err)
		}
	})
	return dir
}
