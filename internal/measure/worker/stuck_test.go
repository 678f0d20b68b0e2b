package worker

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRoutines(t *testing.T) {
	const trace = `goroutine 7 [running]:
plimsoll/internal/measure/worker.watchEnd.func1()
	/src/internal/worker/stuck.go:40 +0x1

goroutine 1 [syscall, 2 minutes]:
syscall.Syscall6(0x101, 0xffffffffffffff9c, 0xc000012345)
	/go/src/syscall/syscall_linux.go:95 +0x39
os.(*File).Write(0xc0000, {0xc0001, 0x40, 0x40})
	/go/src/os/file.go:195 +0x4e
plimsoll/internal/measure/workload.(*appendRun).Run(0xc000, {0x1, 0x2}, 0x3)
	/src/internal/workload/append.go:38 +0x1

goroutine 5 [select]:
plimsoll/internal/measure/worker.listen(0xc000)
	/src/internal/worker/trial.go:90 +0x1
created by plimsoll/internal/measure/worker.Trial in goroutine 1
	/src/internal/worker/trial.go:45 +0x1
`
	want := `still at work: goroutine 1 [syscall, 2 minutes]: syscall.Syscall6 < os.(*File).Write < workload.(*appendRun).Run
still at work: goroutine 5 [select]: worker.listen
`
	if d := cmp.Diff(want, routines(trace)); d != "" {
		t.Errorf("routines (-want +got):\n%s", d)
	}
	if got := routines(""); got != "" {
		t.Errorf("routines of nothing = %q", got)
	}
}
