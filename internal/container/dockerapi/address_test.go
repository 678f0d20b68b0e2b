package dockerapi

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	config := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(config, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	meta := func(name, text string) {
		sum := sha256.Sum256([]byte(name))
		write("contexts/meta/"+hex.EncodeToString(sum[:])+"/meta.json", text)
	}
	write("config.json", `{"currentContext": "rootless"}`)
	meta("rootless", `{"Name": "rootless", "Endpoints": {"docker": {"Host": "unix:///run/user/1000/docker.sock"}}}`)
	meta("broken", `{`)
	meta("far", `{"Endpoints": {"docker": {"Host": "ssh://me@far"}}}`)
	for _, x := range []struct {
		name, asked, env, context, config string
		want, err                         string
	}{
		{name: "no scheme", asked: "localhost:2375", err: "no scheme"},
		{name: "unknown scheme", asked: "gopher://x", err: "gopher"},
		{name: "named pipe", asked: "npipe:////./pipe/docker_engine", err: "only Windows has"},
		{name: "ssh", env: "ssh://me@far", err: "ssh -L"},
		{name: "ssh context", context: "far", config: config, err: "ssh -L"},
		{name: "no such context", context: "nosuch", config: config, err: `"nosuch"`},
		{name: "broken context", context: "broken", config: config, err: `"broken"`},
		{name: "asked", asked: "unix:///a", env: "unix:///b", config: config, want: "unix:///a"},
		{name: "environment", env: "tcp://b:2376", config: config, want: "tcp://b:2376"},
		{name: "current context", config: config, want: "unix:///run/user/1000/docker.sock"},
		{name: "default context", context: "default", config: config, want: ""},
		{name: "nothing", config: filepath.Join(config, "none"), want: ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Setenv("DOCKER_HOST", x.env)
			t.Setenv("DOCKER_CONTEXT", x.context)
			t.Setenv("DOCKER_CONFIG", x.config)
			a, err := Find(x.asked, nil)
			got := a.Host
			if x.err != "" {
				if err == nil || !strings.Contains(err.Error(), x.err) {
					t.Errorf("Find(%q) = %q, %v, want an error with %q", x.asked, got, err, x.err)
				}
				return
			}
			if err != nil {
				t.Errorf("Find(%q) = %v", x.asked, err)
			}
			if x.want == "" && !strings.Contains(got, "docker") {
				t.Errorf("Find(%q) = %q, want docker's", x.asked, got)
			}
			if x.want != "" && got != x.want {
				t.Errorf("Find(%q) = %q, want %q", x.asked, got, x.want)
			}
		})
	}
}
