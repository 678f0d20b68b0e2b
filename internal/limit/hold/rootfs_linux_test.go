package hold

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/testkit/disktest"
)

// TestRootfsLinks: before a container's process is in its root, links of the image and of volumes lead where they will lead to in
// there, and not to what the host has under that name.
func TestRootfsLinks(t *testing.T) {
	layer, root := disktest.Disk(t, disktest.Options{})
	own, volume := disktest.Disk(t, disktest.Options{})
	file := filepath.Join(volume, "file")
	for _, dir := range []string{filepath.Join(root, "run"), filepath.Join(root, "var/lib"), filepath.Join(root, "real"), filepath.Join(volume, "sub")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for at, to := range map[string]string{
		root + "/data": "/dev/shm", root + "/var/run": "/run", root + "/up": "../../../../dev/shm", root + "/round": "/round",
		root + "/link": "real", root + "/tovol": "/link/vol/sub", volume + "/out": "/dev/shm", volume + "/in": "sub", volume + "/back": "../..",
	} {
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
	c := sleeping(t, target.Mount{Source: volume, Destination: "/link/vol"}, target.Mount{Source: file, Destination: "/etc/hosts"})
	c.Rootfs = root
	h := holder(t)
	for _, tt := range []struct{ path, want string }{
		{"/", layer}, {"/data", layer}, {"/data/x", layer}, {"/var/run/x", layer}, {"/up", layer}, {"/var/lib/none/such", layer},
		{"/link/vol", own}, {"/real/vol/none", own}, {"/link/vol/in", own}, {"/tovol", own}, {"/real/vol/../vol/sub/.", own},
		{"/link/vol/out", layer}, {"/link/vol/back", layer}, {"/etc/hosts", own}, {"/etc/hosts/none", own},
	} {
		s, err := h.ScopeOf(c, Where{Path: tt.path}, true)
		if err != nil {
			t.Errorf("%s: %v", tt.path, err)
			continue
		}
		if d := s.Devices(); len(d) != 1 || d[0].Name != filepath.Base(tt.want) {
			t.Errorf("%s is on %+v, want %s", tt.path, d, tt.want)
		}
	}
	if _, err := h.ScopeOf(c, Where{Path: "/round"}, true); err == nil || !strings.Contains(err.Error(), "leads to itself") {
		t.Errorf("a link to itself: %v", err)
	}
	if s, err := h.ScopeOf(c, Where{}, true); err != nil || len(s.Devices()) != 2 {
		t.Errorf("all of it: %+v, %v", s, err)
	}
}
