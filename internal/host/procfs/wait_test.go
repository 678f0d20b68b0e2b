package procfs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/testkit/treetest"
)

func TestWaits(t *testing.T) {
	const tail = " 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 3 0 4711 0 0\n"
	files := map[string]string{
		"7/stat": "7 (a) b) S 1" + tail, "7/cmdline": "/srv/bin/worker\x00agent\x00--dir\x00/data\x00",
		"7/task/7/stat": "7 (worker) S 1" + tail, "7/task/7/wchan": "futex_do_wait", "7/task/7/schedstat": "1500000 2000000 3\n",
		"7/task/8/stat": "8 (worker) S 1" + tail, "7/task/8/wchan": "futex_do_wait", "7/task/8/schedstat": "500000 0 3\n",
		"7/task/9/stat": "9 (worker) R 1" + tail, "7/task/9/wchan": "0", "7/task/9/schedstat": "soon\n",
		"7/task/7/children": "", "7/task/9/children": "10 11 12 7 \n",
		// A process that waits for a disk: any user may read its wchan, only root its stack.
		"10/stat": "10 (worker) D 7" + tail, "10/cmdline": "worker\x00trial\x00",
		"10/task/10/stat": "10 (worker) D 7" + tail, "10/task/10/wchan": "io_schedule",
		"10/task/10/stack": "[<0>] io_schedule+0x42/0x70\n[<0>] folio_wait_bit_common+0x1/0x2\n[<0>] 0xffff\n\nodd\n",
		"10/task/13/stat":  "13 (worker) D 7" + tail, "10/task/13/wchan": "io_schedule", "10/task/13/stack": "",
		// A process that has ended, with control characters in its name, and one that doesn't exist.
		"11/stat": "11 (\x1b[31m z) Z 7" + tail, "11/comm": "a\tb \n", "11/cmdline": "", "11/task/11/stat": "11 (z) Z 7" + tail,
		"14/stat": "14 (strange) q 0", "14/cmdline": "sh\x00-c\x00true\x00", "14/task/14/stat": "14 (strange) q 0", "14/task/15/stat": "15 (cut off",
	}
	root := treetest.Make(t, files)
	want := []string{
		"worker agent (process 7): 1 running or ready to, 2 asleep in futex_do_wait; ran for 2ms, waited 2ms for a CPU",
		"worker trial (process 10): 1 in an uninterruptible wait in io_schedule < folio_wait_bit_common < 0xffff, 1 in an uninterruptible wait in io_schedule; ran for 0s, waited 0s for a CPU",
		"a b (process 11): 1 ended, and its parent has not asked; ran for 0s, waited 0s for a CPU",
	}
	if d := cmp.Diff(want, Waits(root, 7)); d != "" {
		t.Errorf("Waits (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"sh (process 14): 1 in state q; ran for 0s, waited 0s for a CPU"}, Waits(root, 14)); d != "" {
		t.Errorf("Waits (-want +got):\n%s", d)
	}
	if got := Waits(root, 99); got != nil {
		t.Errorf("Waits of a process that is gone = %q", got)
	}
	for pid, want := range map[int]int{7: 1, 10: 7, 99: 0} {
		if got := Parent(root, pid); got != want {
			t.Errorf("Parent(%d) = %d, want %d", pid, got, want)
		}
	}
}
