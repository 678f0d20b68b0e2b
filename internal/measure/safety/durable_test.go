package safety

import (
	"strings"
	"testing"

	"plimsoll/internal/host/device"
)

// TestSyncedTo: no flush of this machine's disks says anything about data that goes to another one.
func TestSyncedTo(t *testing.T) {
	for _, row := range []struct {
		mount  device.Mount
		why    string
		served bool
		want   string
	}{
		{device.Mount{FSType: "nfs4", Source: "server:/export"}, "nfs4: data goes over the network to server:/export", false, "over the network"},
		{device.Mount{FSType: "fuse.sshfs", Source: "me@server:/home"}, "fuse.sshfs: a program serves it", true, "a program serves it"},
		{device.Mount{FSType: "fuse", Source: "/srv/data"}, "", true, ""},
	} {
		s := &device.Stack{Mount: row.mount, Why: row.why, Tree: &device.Node{Kind: device.KindMount, Mount: &row.mount}}
		_, served, why := syncedTo(s, device.FS{Proc: t.TempDir(), Sys: t.TempDir()})
		if served != row.served {
			t.Errorf("%s: served %v, want %v", row.mount.FSType, served, row.served)
		}
		if (why == "") != (row.want == "") || !strings.Contains(why, row.want) {
			t.Errorf("%s: not known because %q, want %q", row.mount.FSType, why, row.want)
		}
	}
}
