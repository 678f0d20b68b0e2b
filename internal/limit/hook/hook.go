// Package hook adds a hook to the bundle of a container that an OCI runtime is about to create. It is for engines
// without a folder of hooks: their runtime is set to a program that adds the hook and then becomes the real runtime.
//
// The hook is of the stage createRuntime: the container's namespaces and control groups exist, and its program has
// not started (https://github.com/opencontainers/runtime-spec/blob/main/config.md#createRuntime-hooks).
package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"plimsoll/internal/conf/controlfile"
)

// valued are the options of runc and crun before the command that take a value (runc(8), crun(1)).
var valued = []string{"--root", "--log", "--log-format", "--log-level", "--criu", "--rootless", "--cgroup-manager"}

// Bundle returns the bundle of the container that a runtime's arguments create; ok is false for other commands. dir
// is the current folder, the default bundle.
func Bundle(args []string, dir string) (bundle string, ok bool) {
	i := 0
	for ; i < len(args) && strings.HasPrefix(args[i], "-"); i++ {
		if slices.Contains(valued, args[i]) {
			i++
		}
	}
	if i >= len(args) || args[i] != "create" && args[i] != "run" {
		return "", false
	}
	bundle = dir
	for rest := args[i+1:]; len(rest) > 0; rest = rest[1:] {
		name, value, hasValue := strings.Cut(rest[0], "=")
		if name != "-b" && name != "--bundle" && name != "-bundle" {
			continue
		}
		if !hasValue && len(rest) > 1 {
			value = rest[1]
		}
		bundle = value
	}
	if !filepath.IsAbs(bundle) {
		bundle = filepath.Join(dir, bundle)
	}
	return bundle, true
}

// maxConfig bounds a bundle's configuration, in bytes.
const maxConfig = 16 << 20

// Add adds a hook to a bundle's config.json, unless it is there already. A bundle may be used again: the hook
// replaces those for which earlier returns true. Everything else stays, including keys that this version of the
// specification doesn't have.
func Add(bundle string, hook specs.Hook, earlier func(specs.Hook) bool) error {
	path := filepath.Join(bundle, "config.json")
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	b, err := controlfile.Read(path, maxConfig)
	if err != nil {
		return err
	}
	config := map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &config); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	hooks := map[string]json.RawMessage{}
	var there []json.RawMessage
	if h := config["hooks"]; h != nil {
		err = json.Unmarshal(h, &hooks)
	}
	if h := hooks["createRuntime"]; err == nil && h != nil {
		err = json.Unmarshal(h, &there)
	}
	if err != nil {
		return fmt.Errorf("%s: hooks: %w", path, err)
	}
	ours, err := json.Marshal(hook)
	if err != nil {
		return err
	}
	after, same := put(there, ours, earlier)
	if same {
		return nil
	}
	if hooks == nil {
		hooks = map[string]json.RawMessage{} // "hooks": null
	}
	if hooks["createRuntime"], err = json.Marshal(after); err != nil {
		return err
	}
	if config["hooks"], err = json.Marshal(hooks); err != nil {
		return err
	}
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	return replace(path, text, info.Mode().Perm())
}

// put replaces the first earlier hook by ours, or appends ours, and drops the other earlier ones. same is set if
// nothing changes.
func put(there []json.RawMessage, ours json.RawMessage, earlier func(specs.Hook) bool) (after []json.RawMessage, same bool) {
	placed := false
	same = true
	for _, h := range there {
		var old specs.Hook
		var compact bytes.Buffer
		equal := json.Compact(&compact, h) == nil && bytes.Equal(compact.Bytes(), ours)
		switch {
		case !equal && (json.Unmarshal(h, &old) != nil || !earlier(old)):
			after = append(after, h)
		case placed:
			same = false
		default:
			after, placed, same = append(after, ours), true, same && equal
		}
	}
	if !placed {
		return append(after, ours), false
	}
	return after, same
}

// replace rewrites a file atomically, so that no reader sees a part of it.
func replace(path string, text []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".config-")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
