package target

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for s, want := range map[string]string{
		"":                         "pid:N",
		"/docker/abc":              "cgroup:/docker/abc",
		"dokcer:web":               "docker:web",
		"Docker:web":               "docker:web",
		"what:web":                 "pid:N",
		":web":                     "pid:N",
		"docker:":                  "missing",
		"docker:a:b":               "letters, digits",
		"docker:a/b":               "letters, digits",
		"a/b":                      "letters, digits",
		"we b":                     "letters, digits",
		"-web":                     "letters, digits",
		"web\n":                    "a target's name can't contain a line break",
		"wéb":                      "letters, digits",
		strings.Repeat("a", 256):   "letters, digits",
		strings.Repeat("a", 1e5):   "100000 bytes",
		"containerd:/web":          "is not a namespace",
		"containerd:a/":            "missing",
		"containerd:a/b/c":         "letters, digits",
		"pid:":                     "1 to 4194304",
		"pid:0":                    "1 to 4194304",
		"pid:-1":                   "1 to 4194304",
		"pid:+1":                   "1 to 4194304",
		"pid:007":                  "1 to 4194304",
		"pid:4194305":              "1 to 4194304",
		"pid:18446744073709551617": "1 to 4194304",
		"pid:self":                 "1 to 4194304",
		"cgroup:":                  "begins with a slash",
		"cgroup:docker/abc":        "cgroup:/docker/abc",
		"cgroup:/":                 "whole machine",
		"cgroup:///":               "no empty",
		"cgroup:/a/../..":          "no empty, . or ..",
		"cgroup:/a//b":             "cgroup:/a/b",
		"cgroup:/a\x00b":           "a target's name can't contain a line break or a zero byte",
		"cgroup:/a\nb":             "a target's name can't contain a line break or a zero byte",
		"cgroup:a\nb":              "a target's name can't contain a line break or a zero byte",
		"/a\nb":                    "a target's name can't contain a line break or a zero byte",
		"dokcer:a\nb":              "a target's name can't contain a line break or a zero byte",
		"unit:":                    "web.service",
		"unit:web":                 "unit:web.service",
		"unit:web.timer":           "a timer has no control group",
		"unit:../web.service":      "web.service",
		"unit:-H.evil service":     "web.service",
		"volume:":                  "a volume's name",
		"volume:a/b":               "a volume's name",
		"volume:crio:data":         "volume:docker:data",
	} {
		if r, err := Parse(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.60q) = %+v, %v; want an error with %q", s, r, err, want)
		} else if strings.ContainsAny(err.Error(), "\n\x00") {
			t.Errorf("Parse(%.60q) = %q, which is more than a line", s, err)
		}
	}
	for s, want := range map[string]Ref{
		"web":                       {Kind: Container, Name: "web"},
		"0123456789ab":              {Kind: Container, Name: "0123456789ab"},
		"docker:web_1.a-b":          {Kind: Container, Engine: Docker, Name: "web_1.a-b"},
		"podman:web":                {Kind: Container, Engine: Podman, Name: "web"},
		"containerd:web":            {Kind: Container, Engine: Containerd, Name: "web"},
		"containerd:k8s.io/web":     {Kind: Container, Engine: Containerd, Namespace: "k8s.io", Name: "web"},
		"crio:k8s_web_pod_ns_uid_0": {Kind: Container, Engine: CRIO, Name: "k8s_web_pod_ns_uid_0"},
		"oci:a+b":                   {Kind: Container, Engine: OCI, Name: "a+b"},
		"pid:1":                     {Kind: Process, PID: 1, Name: "1"},
		"pid:4194304":               {Kind: Process, PID: 4194304, Name: "4194304"},
		"cgroup:/docker/abc":        {Kind: Cgroup, Name: "/docker/abc"},
		"cgroup:/docker/abc/":       {Kind: Cgroup, Name: "/docker/abc"},
		"cgroup:/a b:c":             {Kind: Cgroup, Name: "/a b:c"},
		"unit:web.service":          {Kind: Unit, Name: "web.service"},
		`unit:dev-\x2dx@1.service`:  {Kind: Unit, Name: `dev-\x2dx@1.service`},
		"unit:user.slice":           {Kind: Unit, Name: "user.slice"},
		"volume:data":               {Kind: Volume, Name: "data"},
		"volume:podman:data":        {Kind: Volume, Engine: Podman, Name: "data"},
	} {
		got, err := Parse(s)
		if err != nil || got != want {
			t.Errorf("Parse(%q): %v: %s", s, err, cmp.Diff(want, got))
			continue
		}
		if again, err := Parse(got.String()); err != nil || again != got {
			t.Errorf("Parse(%q) = %+v, %v; want what %q gave", got.String(), again, err, s)
		}
	}
}

// FuzzParse: a name that Parse accepts can be written and parsed again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"web", "docker:web", "pid:1", "cgroup:/a/b", "unit:a.service", "volume:docker:a", "containerd:a/b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := Parse(s)
		if err != nil {
			return
		}
		if again, err := Parse(r.String()); err != nil || again != r {
			t.Errorf("Parse(%q) = %+v, whose String %q gives %+v, %v", s, r, r.String(), again, err)
		}
	})
}
