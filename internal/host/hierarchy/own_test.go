package hierarchy

import (
	"strings"
	"testing"
)

// TestOwn: groups get their names from engines (moby's daemon/oci_linux.go, Podman's libpod/container_internal_common.go, CRI-O's
// cgmgr, containerd's CRI plugin), and first processes may move.
func TestOwn(t *testing.T) {
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
		// The container "web" is not the whole farm.
		{"/web-farm/web", "web", "", "/web-farm/web"},
		{"/web-farm/other", "web", "", ""},
		{"/web-farm/other", "web", "/web", ""},
		{"/user.slice/session-1.scope", id, "", ""},
		{"/", id, "", ""},
		{"/", "web", "/", ""},
		{"/anything", "", "", ""},
		// A path that the user chose, without the id; one with another id doesn't match.
		{"/farm/app", "shop", "/farm/app", "/farm/app"},
		{"/farm/app/init.scope", "shop", "/farm/app", "/farm/app"},
		{"/farm/app", "shop", "", ""},
		{"/farm/apple", "shop", "/farm/app", ""},
		{"/farm", "shop", "/farm/app", ""},
		{"/a.slice/x-y.scope", "web", "a.slice:x:y", "/a.slice/x-y.scope"},
		{"/a.slice/x-z.scope", "web", "a.slice:x:y", ""},
		{"/a.service/libpod-payload-" + id, id, "a.slice:libpod:" + id, "/a.service/libpod-payload-" + id},
		{"/shop-web/webby", "web", "", ""},
		{"/lxc.payload.web/x", "web", "", "/lxc.payload.web"},
		{"/xdeadbeefx", "deadbeef", "", ""},
	} {
		if got := Own(x.path, x.id, x.asked); got != x.want {
			t.Errorf("Own(%q, %.12q, %q) = %q, want %q", x.path, x.id, x.asked, got, x.want)
		}
	}
}
