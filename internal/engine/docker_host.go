package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/moby/client"
)

// dockerHost returns the daemon's address the way the docker command finds it:
// what is asked for, else DOCKER_HOST, else the current context, else the default
// socket. source says in words who named it, "" for the default.
func dockerHost(asked string) (host, source string, err error) {
	if host, source = asked, "the caller"; host == "" {
		host, source = os.Getenv(client.EnvOverrideHost), client.EnvOverrideHost
	}
	if host == "" {
		if host, source, err = dockerContextHost(dockerConfigDir(), os.Getenv("DOCKER_CONTEXT")); err != nil {
			return "", source, err
		}
	}
	if host == "" {
		host, source = client.DefaultDockerHost, ""
	}
	scheme, _, ok := strings.Cut(host, "://")
	switch {
	case !ok:
		return "", source, fmt.Errorf("the daemon's address %q has no scheme", host)
	case scheme == "unix", scheme == "npipe", scheme == "tcp", scheme == "http", scheme == "https":
		return host, source, nil
	case scheme == "ssh":
		return "", source, fmt.Errorf("the daemon's address %q needs ssh, which plimsoll doesn't start; forward its socket with ssh -L", host)
	}
	return "", source, fmt.Errorf("the daemon's address %q has the unknown scheme %s", host, scheme)
}

// dockerConfigDir is where the docker command keeps its configuration, or empty.
func dockerConfigDir() string {
	if d := os.Getenv("DOCKER_CONFIG"); d != "" {
		return d
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".docker")
}

// dockerContextHost returns the address of the context name, or of the current
// one if name is empty. It is empty for the default context. The layout of the
// files is that of the docker command: contexts/meta/<sha256 of the name>/meta.json.
//
// source names the context: "the docker context far".
func dockerContextHost(dir, name string) (host, source string, err error) {
	if name == "" && dir != "" {
		var config struct {
			CurrentContext string `json:"currentContext"`
		}
		b, err := os.ReadFile(filepath.Join(dir, "config.json"))
		if err != nil {
			return "", "", nil
		}
		if err := json.Unmarshal(b, &config); err != nil {
			return "", source, fmt.Errorf("read %s: %w", filepath.Join(dir, "config.json"), err)
		}
		name = config.CurrentContext
	}
	if name == "" || name == "default" {
		return "", "", nil
	}
	source = "the docker context " + name
	sum := sha256.Sum256([]byte(name))
	path := filepath.Join(dir, "contexts", "meta", hex.EncodeToString(sum[:]), "meta.json")
	b, err := os.ReadFile(path)
	if err != nil {
		return "", source, fmt.Errorf("docker context %q: %w", name, err)
	}
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	if err := json.Unmarshal(b, &meta); err != nil {
		return "", source, fmt.Errorf("docker context %q: %s: %w", name, path, err)
	}
	return meta.Endpoints["docker"].Host, source, nil
}
