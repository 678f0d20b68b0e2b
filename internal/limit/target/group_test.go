package target

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseGroups(t *testing.T) {
	for _, bad := range []string{"nonsense", "1:cpu", "1:cpu:relative", "::"} {
		if g, err := parseGroups(strings.NewReader(bad)); err == nil {
			t.Errorf("parseGroups(%q) = %+v", bad, g)
		}
	}
	got, err := parseGroups(strings.NewReader("12:cpu,cpuacct:/docker/a:b\n9:name=systemd:/x (deleted)\n3::/lost\n0::/../outside\n"))
	want := []Group{
		{Version: 1, Controllers: []string{"cpu", "cpuacct"}, Path: "/docker/a:b"},
		{Version: 1, Controllers: []string{"name=systemd"}, Path: "/x"},
		{Version: 2, Path: "/../outside"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("parseGroups: %v: %s", err, diff)
	}
}

// TestOwnGroup: names of groups as engines give them (research of each engine's sources: moby's
// daemon/oci_linux.go, podman's libpod/container_internal_common.go, cri-o's cgmgr, containerd's
// CRI plugin), and first processes that moved.
func TestOwnGroup(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	for _, x := range []struct{ path, id, asked, want string }{
		{"/docker/" + id, id, "", "/docker/" + id},
		{"/docker/" + id + "/init.scope", id, "", "/docker/" + id},
		{"/system.slice/docker-" + id + ".scope", id, "", "/system.slice/docker-" + id + ".scope"},
		{"/user.slice/user-1.slice/user@1.service/user.slice/docker-" + id + ".scope", id, "", "/user.slice/user-1.slice/user@1.service/user.slice/docker-" + id + ".scope"},
		{"/machine.slice/libpod-" + id + ".scope/container", id, "", "/machine.slice/libpod-" + id + ".scope"},
		{"/libpod_parent/libpod-" + id, id, "/libpod_parent/libpod-" + id, "/libpod_parent/libpod-" + id},
		{"/a.service/libpod-payload-" + id, id, "", "/a.service/libpod-payload-" + id},
		{"/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope/system.slice/x.service", id, "kubepods-pod1.slice:cri-containerd:" + id, "/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope"},
		{"/kubepods/pod1/" + id, id, "/kubepods/pod1/" + id, "/kubepods/pod1/" + id},
		{"/default/web", "web", "/default/web", "/default/web"},
		{"/web", "web", "", "/web"},
		{"/process_api/123/web", "web", "", "/process_api/123/web"},
		{"/outer/farm/web/x", "other", "farm/web", "/outer/farm/web"},
		{"/system.slice/my-web.scope", "web", "system.slice:my:web", "/system.slice/my-web.scope"},
		{"/system.slice/web.scope", "web", "system.slice::web", "/system.slice/web.scope"},
		// The container "web" is not all of the farm.
		{"/web-farm/web", "web", "", "/web-farm/web"},
		{"/web-farm/other", "web", "", ""},
		{"/web-farm/other", "web", "/web", ""},
		{"/user.slice/session-1.scope", id, "", ""},
		{"/", id, "", ""},
		{"/", "web", "/", ""},
		{"/anything", "", "", ""},
	} {
		if got := ownGroup(x.path, x.id, x.asked); got != x.want {
			t.Errorf("ownGroup(%q, %.12q, %q) = %q, want %q", x.path, x.id, x.asked, got, x.want)
		}
	}
}
