package ocihook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func TestBundle(t *testing.T) {
	for _, row := range []struct {
		args, want string
	}{
		{"", ""},
		{"--version", ""},
		{"state web", ""},
		{"--root /run/create state web", ""},
		{"--root create delete web", ""},
		{"create web", "/here"},
		{"--root /run/runc --log /l --log-format json --systemd-cgroup create --bundle /b --pid-file /p web", "/b"},
		{"--root=/run/runc create --bundle=/b web", "/b"},
		{"run -b sub web", "/here/sub"},
		{"create --bundle", "/here"},
	} {
		got, ok := Bundle(strings.Fields(row.args), "/here")
		if got != row.want || ok != (row.want != "") {
			t.Errorf("Bundle(%q) = %q, %v; want %q", row.args, got, ok, row.want)
		}
	}
}

func TestAdd(t *testing.T) {
	hook := specs.Hook{Path: "/usr/bin/plimsoll", Args: []string{"plimsoll", "limit", "hook"}}
	for _, row := range []struct{ config, hooks, rest string }{
		{`{"a":12345678901234567890}`, `{"createRuntime":[OURS]}`, `12345678901234567890`},
		{`{"hooks":null}`, `{"createRuntime":[OURS]}`, ``},
		{`{"hooks":{"poststop":[{"path":"/x"}],"createRuntime":[{"path":"/y"}]}}`, `{"createRuntime":[{"path":"/y"},OURS],"poststop":[{"path":"/x"}]}`, ``},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "config.json")
		if err := os.WriteFile(file, []byte(row.config), 0o640); err != nil {
			t.Fatal(err)
		}
		for range 2 { // A second time it is there already.
			if err := Add(dir, hook); err != nil {
				t.Fatal(err)
			}
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Hooks json.RawMessage }
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(row.hooks, "OURS", `{"path":"/usr/bin/plimsoll","args":["plimsoll","limit","hook"]}`)
		if string(got.Hooks) != want || !strings.Contains(string(b), row.rest) {
			t.Errorf("Add to %s: %s, want hooks %s", row.config, b, want)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".config-*")); len(left) > 0 {
			t.Errorf("left %q", left)
		}
	}
	for config, want := range map[string]string{"": "unexpected end", "[]": "cannot unmarshal", `{"hooks":5}`: "hooks: ", `{"hooks":{"createRuntime":5}}`: "hooks: "} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Add(dir, hook); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Add to %q = %v, want %q", config, err, want)
		}
	}
	if err := Add(t.TempDir(), hook); err == nil {
		t.Error("a bundle without a configuration is taken")
	}
}
