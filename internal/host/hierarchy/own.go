package hierarchy

import (
	"path"
	"strings"
)

// Own returns the container's own group, given the group p of one of its processes. It is the highest group whose name has the
// container's id (docker-ID.scope, libpod-ID, ID), or the one that config.json asks for (cgroupsPath, "" if that isn't known). It is
// empty if p is below neither: the container has no group of its own, and may share p with others.
//
// Only ids of digits, as engines make them, are looked for within names. With runc a user may call a container "web", and
// "/web-farm/web" has that twice. Engines add words of their own to an id: "docker-ID.scope", "libpod-ID.scope",
// "cri-containerd-ID.scope", "lxc.payload.NAME".
func Own(p, id, cgroupsPath string) string {
	// A path without a leading slash, and any path in a container's own cgroup namespace, is below the group of the runtime.
	asked, scope := path.Clean("/"+cgroupsPath), ""
	if parts := strings.Split(cgroupsPath, ":"); len(parts) == 3 {
		// The form of systemd's driver: slice:prefix:name (runc, docs/systemd.md).
		asked, scope = "/", strings.TrimPrefix(parts[1]+"-"+parts[2], "-")+".scope"
	}
	at := ""
	for part := range strings.SplitSeq(strings.TrimPrefix(p, "/"), "/") {
		at += "/" + part
		if id != "" && carries(part, id) || scope != "" && part == scope || asked != "/" && strings.HasSuffix(at, asked) {
			return at
		}
	}
	return ""
}

// carries reports whether a group's name is that of a container.
func carries(group, id string) bool {
	if len(id) >= 12 && strings.Trim(id, "0123456789abcdef") == "" {
		return strings.Contains(group, id)
	}
	if scope, ok := strings.CutSuffix(group, ".scope"); ok {
		return scope == id || strings.HasSuffix(scope, "-"+id)
	}
	return group == id || group == "libpod-"+id || group == "lxc.payload."+id
}
