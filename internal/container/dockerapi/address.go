// Package dockerapi finds the daemon that speaks Docker's API, and says in words who it
// is, whether its containers run on this machine, and why it can't be used.
//
// A daemon's socket proves little. Podman answers on one, too; Docker Desktop's leads into a
// virtual machine; a context leads to another machine. So a daemon is asked, and what
// it says about its kernel is compared with this machine's.
package dockerapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/moby/moby/client"
)

// An Address is where a daemon listens.
type Address struct {
	// Host is as in DOCKER_HOST: unix:///run/docker.sock.
	Host string
	// Source says in words who named it: "DOCKER_HOST", "the docker context far". It is
	// empty for the default.
	Source string
}

// Find returns the daemon's address the way the docker command finds it: what is asked
// for, else DOCKER_HOST, else the current context, else the default socket. env looks up environment variables; nil is os.Getenv.
// The error is a *Missing.
func Find(asked string, env func(string) string) (Address, error) {
	if env == nil {
		env = os.Getenv
	}
	host, source, err := find(asked, env)
	if err != nil {
		return Address{}, &Missing{Missing: err.Error(), Fix: "set DOCKER_HOST to the address of a socket, such as unix:///run/docker.sock", Cause: err}
	}
	return Address{Host: host, Source: source}, nil
}

func find(asked string, env func(string) string) (host, source string, err error) {
	if host, source = asked, "the caller"; host == "" {
		host, source = env(client.EnvOverrideHost), client.EnvOverrideHost
	}
	if host == "" {
		if host, source, err = contextHost(configDir(env), env("DOCKER_CONTEXT")); err != nil {
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
	case scheme == "npipe" && runtime.GOOS != "windows":
		return "", source, fmt.Errorf("the daemon's address %q is a named pipe, which only Windows has", host)
	case scheme == "unix", scheme == "npipe", scheme == "tcp", scheme == "http", scheme == "https":
		return host, source, nil
	case scheme == "ssh":
		return "", source, fmt.Errorf("the daemon's address %q needs ssh, which plimsoll doesn't start; forward its socket with ssh -L", host)
	}
	return "", source, fmt.Errorf("the daemon's address %q has the unknown scheme %s", host, scheme)
}

// configDir is where the docker command keeps its configuration, or empty.
func configDir(env func(string) string) string {
	if d := env("DOCKER_CONFIG"); d != "" {
		return d
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".docker")
}

// contextHost returns the address of the context name, or of the current
// one if name is empty. It is empty for the default context. The layout of the
// files is that of the docker command: contexts/meta/<sha256 of the name>/meta.json.
//
// source names the context: "the docker context far".
func contextHost(dir, name string) (host, source string, err error) {
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
