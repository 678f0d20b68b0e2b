package cgroup

import (
	"strings"
	"testing"

	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/testkit/texttest"
)

const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// TestFindNames: how engines name the groups of their containers, with where an init may have moved to.
func TestFindNames(t *testing.T) {
	for _, tt := range []struct{ container, in, want string }{
		{id, "/docker/" + id, "/docker/" + id},
		{id, "/system.slice/docker-" + id + ".scope", "/system.slice/docker-" + id + ".scope"},
		{id, "/system.slice/docker-" + id + ".scope/init.scope", "/system.slice/docker-" + id + ".scope"},
		{id, "/machine.slice/libpod-" + id + ".scope/container", "/machine.slice/libpod-" + id + ".scope"},
		{id, "/libpod_parent/libpod-" + id, "/libpod_parent/libpod-" + id},
		{id, "/user.slice/libpod-payload-" + id, "/user.slice/libpod-payload-" + id},
		{id, "/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope", "/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope"},
		{id, "/kubepods/burstable/pod1/" + id, "/kubepods/burstable/pod1/" + id},
		{id, "/crio-" + id + ".scope/a/b", "/crio-" + id + ".scope"},
		// A container in a container of the same name: the outer is what was asked for.
		{id, "/docker/" + id + "/docker/" + id, "/docker/" + id},
		{id, "/docker/" + strings.Repeat("f", 64), ""},
		{id, "/user.slice", ""},
		{"web", "/web", "/web"},
		{"web", "/web/init", "/web"},
		{"web", "/system.slice/runc-web.scope", "/system.slice/runc-web.scope"},
		{"web", "/web.slice/crun-web.scope", "/web.slice/crun-web.scope"},
		{"web", "/lxc.payload.web/x", "/lxc.payload.web"},
		{"web", "/shop-web/webby", ""},
		{"web", "/web.slice", ""},
		{"deadbeef", "/xdeadbeefx", ""},
		{"", "/a/b", "/a/b"},
		{"", "/", ""},
		{id, "/", ""},
	} {
		f := newFake(t, 2)
		f.put("proc/10/cgroup", "0::"+tt.in+"\n")
		target, err := f.host.Find(10, tt.container, "")
		if (err != nil) != (tt.want == "") {
			t.Errorf("Find(%q in %s): %v", tt.container, tt.in, err)
			continue
		}
		for _, c := range controllers {
			g, gerr := target.Group(c)
			if tt.want != "" && (gerr != nil || g.Path != tt.want) {
				t.Errorf("Find(%q in %s) = %+v, %v, want %s", tt.container, tt.in, g, gerr, tt.want)
			}
		}
	}
}

// TestFind by controller: on a hybrid host each may be elsewhere, and what is missing is said when it is
// asked for.
func TestFind(t *testing.T) {
	f := newFake(t, 3)
	f.put("proc/10/cgroup", "3:blkio:/docker/"+id+"\n0::/system.slice/docker-"+id+".scope/init\n")
	target, err := f.host.Find(10, id, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []hierarchy.Group{
		{Controller: hierarchy.IO, Version: 1, Path: "/docker/" + id},
		{Controller: hierarchy.Memory, Version: 2, Path: "/system.slice/docker-" + id + ".scope"},
	} {
		if g, _ := target.Group(want.Controller); g == nil || g.Version != want.Version || g.Path != want.Path {
			t.Errorf("the group is %+v, want %+v", g, want)
		}
	}
	if target.Name != "container 0123456789ab" {
		t.Errorf("Name is %q", target.Name)
	}
	for _, tt := range []struct {
		cgroup, container string
		words             []string
	}{
		{"3:blkio:/../x\n0::/../x\n", id, []string{"outside this cgroup namespace", "run this where the container engine runs"}},
		{"3:blkio:/x (deleted)\n0::/x (deleted)\n", id, []string{"/x was removed"}},
		{"3:blkio:/user.slice\n0::/user.slice\n", id, []string{"process 10 is in /user.slice of blkio", "may be shared", "cgroup:/user.slice"}},
		{"3:blkio:/\n0::/\n", "", []string{"process 10: it is in the root group of blkio", "slow down the whole machine"}},
		{"", "", []string{"no blkio controller"}},
	} {
		f := newFake(t, 3)
		f.put("proc/10/cgroup", tt.cgroup)
		_, err := f.host.Find(10, tt.container, "")
		if err == nil {
			t.Errorf("%q: no error", tt.cgroup)
			continue
		}
		texttest.Has(t, err.Error(), tt.words, tt.cgroup)
	}
	if _, err := f.host.Find(99, "", ""); err == nil || !strings.Contains(err.Error(), "group of process 99") {
		t.Errorf("no process: %v", err)
	}
	// A group that config.json asks for need not be called after the container.
	f.put("proc/12/cgroup", "3:blkio:/grp/app\n0::/grp/app/init\n")
	if target, err = f.host.Find(12, "web", "/grp/app"); err != nil {
		t.Fatal(err)
	}
	for _, c := range controllers {
		if g, err := target.Group(c); err != nil || g.Path != "/grp/app" {
			t.Errorf("Group(%v) of a container with a path of its own = %+v, %v", c, g, err)
		}
	}
	if _, err := f.host.Find(12, "web", "/grp/ap"); err == nil || !strings.Contains(err.Error(), "does not carry the name") {
		t.Errorf("Find() with another path: %v", err)
	}
	// One controller in the root is no reason to leave out the others.
	f.put("proc/11/cgroup", "3:blkio:/\n0::/a\n")
	target, err = f.host.Find(11, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := target.Group(hierarchy.IO); err == nil || !strings.Contains(err.Error(), "root group of blkio") {
		t.Errorf("Group(io) = %v", err)
	}
	if g, err := target.Group(hierarchy.CPU); err != nil || g.Path != "/a" {
		t.Errorf("Group(cpu) = %+v, %v", g, err)
	}
}

func TestAt(t *testing.T) {
	f := newFake(t, 1, "/a/b")
	for _, p := range []string{"/a/b", "a/b", f.root + "/cg/blkio/a/b", f.root + "/cg/cpu/a/b"} {
		target, err := f.host.At(p)
		if err != nil {
			t.Errorf("At(%s): %v", p, err)
			continue
		}
		for _, c := range controllers {
			if g, err := target.Group(c); err != nil || g.Path != "/a/b" {
				t.Errorf("At(%s): %v, %+v, %v", p, c, g, err)
			}
		}
	}
	for p, words := range map[string]string{"/": "is the root group", f.root + "/cg/blkio": "is the root group", "/x": "no such file"} {
		if _, err := f.host.At(p); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("At(%s) = %v, want %q", p, err, words)
		}
	}
}
