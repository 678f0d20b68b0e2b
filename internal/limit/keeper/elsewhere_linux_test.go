package keeper

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/testkit/disktest"
)

// TestLieMovedHeld: a container's process was moved to a group that the daemon's limits don't reach. The state said that the container is held.
func TestLieMovedHeld(t *testing.T) {
	needV1(t)
	disk, _ := disktest.Disk(t, disktest.Options{})
	own, other := disktest.NewBlkioGroup(t), disktest.NewBlkioGroup(t)
	pid := own.RunApart(t, "sh", "-c", "sleep 60 & wait").Process.Pid
	r := start(t, Options{Holder: holderFor(t), Check: hour}, fmt.Sprintf("rules:\n- {name: one, match: all, where: {device: %s}, limits: {write_bps: 1MiB}}\n", disk))
	began, err := procfs.Start("/proc", pid)
	if err != nil {
		t.Fatal(err)
	}
	r.k.Started(target.Target{Kind: target.Container, Engine: target.OCI, Name: "web", ID: base(own), PID: pid, StartTime: began, Running: true})
	eventually(t, "the group is held", func() bool { return rate(base(own), disktest.Number(t, disk)) == "1048576" })
	elsewhere := func() []string {
		s := r.k.Status()
		if len(s.Containers) != 1 {
			t.Fatalf("%+v", s.Containers)
		}
		return s.Containers[0].Elsewhere
	}
	if all := elsewhere(); len(all) != 0 {
		t.Errorf("while all are in the group: %q", all)
	}
	if err := other.Add(pid); err != nil {
		t.Fatal(err)
	}
	all := elsewhere()
	name := filepath.Base(disk)
	if len(all) != 1 || !strings.HasPrefix(all[0], "write_bps on "+name+" is NOT held: 1 process of it is in the group /"+filepath.Base(string(other))+", which has no write_bps; move the processes back") {
		t.Errorf("%q", all)
	}
}
