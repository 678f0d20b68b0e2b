package oci_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/testkit/workertest"
	"plimsoll/internal/text/refusal"
)

// runtimes are the OCI runtimes of this machine. crun refuses hosts with hybrid cgroups
// (Debian 12's); there it is shown the v1 hierarchies alone.
func runtimes(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	if path, err := exec.LookPath("runc"); err == nil {
		found["runc"] = path
	}
	if path, err := exec.LookPath("crun"); err == nil {
		found["crun"] = path
		if _, err := os.Stat("/sys/fs/cgroup/unified/cgroup.procs"); err == nil {
			found["crun"] = script(t, `exec unshare --mount --propagation slave sh -c 'umount -l /sys/fs/cgroup/unified && exec `+path+` "$@"' crun "$@"`)
		}
	}
	if len(found) == 0 {
		t.Skip("runc or crun is needed")
	}
	return found
}

// script writes a program of the shell.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// measureOCI runs a small trial in a container and closes it. Nothing of it may be left.
func measureOCI(t *testing.T, e engine.Engine, spec engine.Spec) error {
	t.Helper()
	spec.ID = enginetest.ID()
	leaktest.Check(t, spec.ID)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	s, err := e.Open(ctx, spec)
	if err != nil {
		return err
	}
	defer func() {
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}()
	a, err := agent.Open(ctx, s)
	if err != nil {
		return err
	}
	if err := a.Prepare(ctx, "1", workload.Spec{Name: "tree", Kind: workload.Tree, Count: 5, BS: 1024}); err != nil {
		return err
	}
	// The files of the trial are where the session says, and nowhere in the image.
	if path := s.Info().HostPath; path != "" {
		if files, err := os.ReadDir(path); err != nil || len(files) == 0 {
			t.Errorf("HostPath %s holds %d files, %v; want the trial's", path, len(files), err)
		}
	}
	if err := a.Start("1"); err != nil {
		return err
	}
	_, err = a.Wait(ctx, "1", nil)
	return err
}

// TestOCIOddImages: whatever an image has where Plimsoll mounts, runs and writes, the
// trial works, and neither the image nor anything outside of it is written to.
func TestOCIOddImages(t *testing.T) {
	enginetest.NeedRoot(t)
	t.Parallel()
	outside := t.TempDir()
	paths := runtimes(t)
	e := oci.New(t.TempDir(), workertest.Source(t), exec.LookPath)
	link := func(target string) func(path string) error {
		return func(path string) error { return os.Symlink(target, path) }
	}
	file := func(path string) error { return os.WriteFile(path, []byte("mine"), 0o644) }
	folder := func(path string) error {
		return errors.Join(os.Mkdir(path, 0o755), os.WriteFile(filepath.Join(path, "append.log"), []byte("mine"), 0o644))
	}
	for name, what := range map[string]func(path string) error{
		"link to /etc":       link("/etc"),
		"link up and out":    link(strings.Repeat("../", 30) + outside),
		"link to the host's": link(outside),
		"link to a new file": link(filepath.Join(outside, "new")),
		"dangling link":      link("/nowhere/at/all"),
		"link to itself":     link("plimsoll-data"),
		"file":               file,
		"folder":             folder,
		"nothing":            func(string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			image := t.TempDir()
			for _, path := range []string{"data", "plimsoll-data", ".plimsoll-worker", "proc", "sys", "dev", "tmp"} {
				if err := what(filepath.Join(image, path)); err != nil {
					t.Fatal(err)
				}
			}
			before := listing(t, image) + listing(t, outside)
			for name, path := range paths {
				for _, kind := range []place.Kind{place.Layer, place.Bind, place.Tmpfs} {
					spec := engine.Spec{Image: image, Runtime: path, Place: place.Spec{Name: string(kind), Kind: kind}}
					if err := measureOCI(t, e, spec); err != nil {
						t.Errorf("%s, %s: %v", name, kind, err)
					}
				}
			}
			if after := listing(t, image) + listing(t, outside); after != before {
				t.Errorf("before:\n%safter:\n%s", before, after)
			}
		})
	}
}

// listing names every file below a folder with its size, links not followed.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, strings.TrimPrefix(path, dir), st.Mode(), st.Size())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestOCIReadOnlyImage: an image on a read-only file system is as good as any.
func TestOCIReadOnlyImage(t *testing.T) {
	enginetest.NeedRoot(t)
	t.Parallel()
	image := disktest.Tmpfs(t, "size=1m")
	if err := os.Mkdir(filepath.Join(image, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	disktest.Remount(t, image, unix.MS_RDONLY)
	for name, path := range runtimes(t) {
		e := oci.New(t.TempDir(), workertest.Source(t), exec.LookPath)
		for _, kind := range []place.Kind{place.Layer, place.Bind, place.Tmpfs} {
			if err := measureOCI(t, e, engine.Spec{Image: image, Runtime: path, Place: place.Spec{Name: string(kind), Kind: kind}}); err != nil {
				t.Errorf("%s, %s: %v", name, kind, err)
			}
		}
	}
}

// TestOCIBadImage: what can't be an image is said before anything is made, or with the
// kernel's own words in the headline.
func TestOCIBadImage(t *testing.T) {
	enginetest.NeedRoot(t)
	runtimes(t)
	state := t.TempDir()
	e := oci.New(state, workertest.Source(t), exec.LookPath)
	plain := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	layer := place.Spec{Name: "layer", Kind: place.Layer}
	for image, want := range map[string]string{
		plain:               "not a folder",
		plain + "-none":     "not a folder",
		"/":                 "state folder",
		filepath.Dir(state): "state folder",
		"a:b":               "colon",
	} {
		err := measureOCI(t, e, engine.Spec{Image: image, Place: layer})
		var u *refusal.Error
		if !errors.As(err, &u) || !strings.Contains(err.Error(), want) || u.Fix == "" {
			t.Errorf("image %s: %v, want it Unsupported with %q and a fix", image, err, want)
		}
	}
	// An overlay can't lie on proc.
	err := measureOCI(t, e, engine.Spec{Image: "/proc/self", Place: layer})
	if err == nil {
		t.Fatal("image /proc/self: no error")
	}
	for _, words := range []string{"did not start", "mount overlay"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("image /proc/self: %v, want %q", err, words)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("image /proc/self: %v, want one line", err)
	}
}
