package hook

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
			if err := Add(dir, hook, never); err != nil {
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
		if err := Add(dir, hook, never); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Add to %q = %v, want %q", config, err, want)
		}
	}
	if err := Add(t.TempDir(), hook, never); err == nil {
		t.Error("a bundle without a configuration is taken")
	}
}

// never is for bundles in which no earlier hook is looked for.
func never(specs.Hook) bool { return false }

// TestAddAgain: an earlier hook makes way for the one of now, which stands in its place, and others' stay byte for byte.
func TestAddAgain(t *testing.T) {
	hook := specs.Hook{Path: "/usr/bin/plimsoll", Args: []string{"now"}}
	earlier := func(h specs.Hook) bool { return len(h.Args) > 0 && h.Args[0] == "earlier" }
	const other, more = `{"path":"/y","args":["now"],"unknown":12345678901234567890}`, `{"path":"/z"}`
	const was, ours = `{"path":"/old/plimsoll","args":["earlier","--strict"]}`, `{"path":"/usr/bin/plimsoll","args":["now"]}`
	for there, want := range map[string]string{
		"":                                     ours,
		other:                                  other + "," + ours,
		was:                                    ours,
		other + "," + was + "," + more:         other + "," + ours + "," + more,
		was + "," + other + "," + was:          ours + "," + other,
		was + "," + ours + "," + more:          ours + "," + more,
		ours + "," + more + "," + was:          ours + "," + more,
		more + ",5," + was:                     more + ",5," + ours,
		other + "," + ours:                     other + "," + ours,
		ours + "," + more + "," + ours + ",{}": ours + "," + more + ",{}",
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "config.json")
		if err := os.WriteFile(file, []byte(`{"hooks":{"createRuntime":[`+there+`]}}`), 0o640); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := Add(dir, hook, earlier); err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(file); err != nil || string(b) != `{"hooks":{"createRuntime":[`+want+`]}}` {
				t.Errorf("Add beside %s: %s, %v, want %s", there, b, err, want)
			}
		}
	}
}
