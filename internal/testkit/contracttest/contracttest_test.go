package contracttest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestCatches: the check finds faults at any depth and in every part of a request.
func TestCatches(t *testing.T) {
	s := Read(t)
	for _, x := range []struct{ method, url, body, want string }{
		// A correct value has no problem.
		{"GET", "/_ping", "", ""},
		{"POST", "/v1.47/containers/create?name=ab", `{"Image": "x", "Labels": {"any": "thing"}, "HostConfig": {"Mounts": [{"Type": "bind", "Source": "C:\\a", "Target": "D:"}], "Isolation": "hyperv"}}`, ""},
		{"GET", "/v1.47/images/mcr.microsoft.com/windows/nanoserver:ltsc2022/json", "", ""},
		{"POST", "/v1.47/volumes/create", `{"Name": "a", "DriverOpts": {"any": "thing"}}`, ""},

		{"POST", "/v1.47/containers/create", `{"Image": "x", "Colour": "red"}`, "unknown key Colour"},
		{"POST", "/v1.47/containers/create", `{"HostConfig": {"Mounts": [{"Type": "bind", "Src": "/a"}]}}`, "unknown key HostConfig.Mounts[0].Src"},
		{"POST", "/v1.47/containers/create", `{"HostConfig": {"Mounts": [{"VolumeOptions": {"DriverConfig": {"Opts": {}}}}]}}`, "unknown key HostConfig.Mounts[0].VolumeOptions.DriverConfig.Opts"},
		{"POST", "/v1.47/containers/create", `{"HostConfig": {"BlkioDeviceReadBPS": null}}`, "unknown key HostConfig.BlkioDeviceReadBPS"},
		{"POST", "/v1.47/containers/create", `{"HostConfig": {"BlkioWeight": 1001}}`, "BlkioWeight"},
		{"POST", "/v1.47/containers/create", `{"HostConfig": {"Memory": "1g"}}`, "Memory"},
		{"POST", "/v1.47/containers/create", `{"HostConfig": {"BlkioDeviceReadBps": [{"Path": 1}]}}`, "Path"},
		{"POST", "/v1.47/containers/create", `{"HostConfig": {"Isolation": "vm"}}`, "Isolation"},
		{"POST", "/v1.47/containers/create", `{"Labels": {"a": 1}}`, "Labels"},
		{"POST", "/v1.47/containers/create", `{"Healthcheck": {"Tests": []}}`, "unknown key Healthcheck.Tests"},
		{"POST", "/v1.47/containers/a/update", `{"HostConfig": {}}`, "unknown key HostConfig"},
		{"POST", "/v1.47/containers/a/exec", `{"Command": ["a"]}`, "unknown key Command"},
		{"POST", "/v1.47/volumes/create", `{"Options": {}}`, "unknown key Options"},
		{"POST", "/v1.47/containers/a/start", `{"Image": "x"}`, "it has no body"},
		{"PUT", "/v1.47/containers/a/archive", "", "parameter path is missing"},
		{"GET", "/v1.47/containers/json?everything=1", "", "unknown parameter everything"},
		{"GET", "/v1.47/containers/json?limit=all", "", "no integer"},
		{"DELETE", "/v1.47/containers/a?force=yes", "", "no boolean"},
		{"POST", "/v1.47/containers/create?name=a%20b", "", "parameter name"},
		{"POST", "/v1.47/containers/a/begin", "", "there is no POST"},
		{"PUT", "/v1.47/containers/a/start", "", "there is no PUT"},
	} {
		u, err := url.Parse(x.url)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(s.RequestProblems(x.method, u, http.Header{"Content-Type": {"application/json"}}, x.body), "\n")
		if x.want == "" && got != "" || !strings.Contains(got, x.want) {
			t.Errorf("%s %s %s: %q, want %q", x.method, x.url, x.body, got, x.want)
		}
	}
	u := &url.URL{Path: "/volumes/create"}
	if got := s.RequestProblems("POST", u, http.Header{"Content-Type": {"text/plain"}}, "{}"); len(got) != 1 {
		t.Errorf("a body that is not JSON: %q", got)
	}
}
