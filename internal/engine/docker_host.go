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
// socket.
func dockerHost(asked string) (string, error) {
	host := asked
	if host == "" {
		host = os.Getenv(client.EnvOverrideHost)
	}
	if host == "" {
		var err error
		if host, err = dockerContextHost(dockerConfigDir(), os.Getenv("DOCKER_CONTEXT")); err != nil {
			return "", err
		}
	}
	if host == "" {
		host = client.DefaultDockerHost
	}
	scheme, _, ok := strings.Cut(host, "://")
	switch {
	case !ok:
		return "", fmt.Errorf("the daemon's address %q has no scheme", host)
	case scheme == "unix", scheme == "npipe", scheme == "tcp", scheme == "http", scheme == "https":
		return host, nil
	case scheme == "ssh":
		return "", fmt.Errorf("the daemon's address %q needs ssh, which plimsoll doesn't start; forward its socket with ssh -L", host)
	}
	return "", fmt.Errorf("the daemon's address %q has the unknown scheme %s", host, scheme)
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
func dockerContextHost(dir, name string) (string, error) {
	if name == "" && dir != "" {
		var config struct {
			CurrentContext string `json:"currentContext"`
		}
		b, err := os.ReadFile(filepath.Join(dir, "config.json"))
		if err != nil {
			return "", nil
		}
		if err := json.Unmarshal(b, &config); err != nil {
			return "", fmt.Errorf("read %s: %w", filepath.Join(dir, "config.json"), err)
		}
		name = config.CurrentContext
	}
	if name == "" || name == "default" {
		return "", nil
	}
	sum := sha256.Sum256([]byte(name))
	path := filepath.Join(dir, "contexts", "meta", hex.EncodeToString(sum[:]), "meta.json")
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("docker context %q: %w", name, err)
	}
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	if err := json.Unmarshal(b, &meta); err != nil {
		return "", fmt.Errorf("docker context %q: %s: %w", name, path, err)
	}
	return meta.Endpoints["docker"].Host, nil
}
