package line

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// TestPreparingIsSaid: while large files are made, a note reports the wait, once, and not with --quiet.
func TestPreparingIsSaid(t *testing.T) {
	t.Parallel()
	big := workload.Spec{Name: "job", Jobs: []workload.StageJob{{Size: 3 << 30, Job: load.Job{Filename: "f"}}, {Size: 3 << 30, Job: load.Job{Filename: "f"}}, {Size: 1 << 30, Job: load.Job{Files: []string{"a", "b"}}}}}
	for _, row := range []struct {
		spec  workload.Spec
		after time.Duration
		quiet bool
		want  string
	}{
		{big, 0, false, "plimsoll: job: preparing 3 files of up to 5.0 GiB; the measured time has not begun\n"},
		{big, time.Hour, false, ""},
		{big, 0, true, ""},
		{workload.Spec{Name: "ab"}, 0, false, ""},
	} {
		var said bytes.Buffer
		s := &session{stderr: &said}
		if row.quiet {
			s.stderr = dialect.Quiet{Writer: &said}
		}
		ready := s.announce(row.spec, row.after)
		if row.after == 0 {
			time.Sleep(50 * time.Millisecond)
		}
		ready()
		ready()
		if strings.ReplaceAll(said.String(), "5 GiB", "5.0 GiB") != row.want {
			t.Errorf("after %v: %q, want %q", row.after, said.String(), row.want)
		}
	}
}
