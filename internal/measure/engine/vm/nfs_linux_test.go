package vm_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/place"
)

// needGanesha skips a test that needs NFS's server.
func needGanesha(t *testing.T) {
	t.Helper()
	needVM(t)
	if os.Geteuid() != 0 {
		t.Skip("root is needed, whom Ganesha serves")
	}
	if _, err := exec.LookPath("ganesha.nfsd"); err != nil {
		t.Skip("ganesha.nfsd is needed: scripts/setup guest")
	}
}

// nfsOptions are those of machines with a share by NFS.
func nfsOptions(t *testing.T, state string) vm.Options {
	t.Helper()
	o := testOptions(t, state)
	o.Share = vm.ShareNFS
	return o
}

// TestVMNFSSuite: an engine with a share by NFS does what the others do.
func TestVMNFSSuite(t *testing.T) {
	needGanesha(t)
	state := sharedState(t)
	enginetest.Suite{
		New:    func(t *testing.T) engine.Engine { return vm.New(nfsOptions(t, state)) },
		Places: []place.Kind{place.Bind, place.Layer},
		Guest:  true, Share: true,
	}.Run(t)
}

// TestVMNFS: Ganesha serves a machine that boots and those that go on, with each of the caches, in a network of its own where nobody else is, and
// leaves nothing in the folders that it knows.
func TestVMNFS(t *testing.T) {
	needGanesha(t)
	// Longer than a socket's path may be, and with what some programs take for their own.
	state := filepath.Join(t.TempDir(), "a folder: \"b\"", strings.Repeat("long/", 30))
	here, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	before := ganeshaFiles(t)
	for _, tt := range []struct{ id, cache, mounted string }{
		{"boots", "", ""},
		{"goes-on", "none", "acdirmax=0 acdirmin=0 acregmax=0 acregmin=0 lookupcache=none"},
		{"goes-on-again", "loose", "nocto"},
	} {
		id := tt.id
		o := nfsOptions(t, state)
		o.ShareCache = tt.cache
		a := openVM(t, vm.New(o), id, bindSpec)
		if got := a.Info().Storage; !strings.HasPrefix(got, "nfs 4.2, nfs-ganesha ") || !strings.HasSuffix(got, ", cache="+cmp.Or(tt.cache, "auto")) {
			t.Errorf("Storage = %q", got)
		}
		if got := wordsOf(a.Hello.Mount.Options, "ac", "noac", "nocto", "lookupcache="); got != tt.mounted {
			t.Errorf("the place is mounted with %q, want %q of the cache", got, tt.mounted)
		}
		m := a.Hello.Mount
		for _, want := range []string{"vers=4.2", "rsize=1048576", "wsize=1048576", "hard", "proto=tcp", "sec=sys"} {
			if m.FSType != "nfs4" || !strings.Contains(m.Options+",", ","+want+",") {
				t.Errorf("the place is mounted as %+v, want nfs4 with %s", m, want)
			}
		}
		daemon := processOf("ganesha.nfsd", id)
		if daemon == 0 {
			t.Error("no ganesha.nfsd is to be found")
		}
		if there, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(daemon), "ns/net")); err != nil || there == here {
			t.Errorf("ganesha.nfsd is in the network %s, %v, as this machine's programs are", there, err)
		}
		appends(t, a)
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wantNothingLeft(t, state, id)
	}
	if after := ganeshaFiles(t); after != before {
		t.Errorf("left behind are %q, before there were %q", after, before)
	}
	if saved, _ := filepath.Glob(filepath.Join(state, "cache/vm/saved-*")); len(saved) != 1 {
		t.Errorf("saved are %v, want one", saved)
	}
}

// ganeshaFiles lists what a Ganesha without fences leaves.
func ganeshaFiles(t *testing.T) string {
	t.Helper()
	var all []string
	for _, p := range []string{"/run/ganesha*", "/run/ganesha/*", "/var/lib/nfs/*", "/var/lib/nfs/ganesha/*", "/var/log/ganesha/*", "/tmp/ganesha*", "/run/blkid*"} {
		paths, err := filepath.Glob(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, paths...)
	}
	return strings.Join(all, " ")
}

// TestVMNFSUnserved: if Ganesha ends, the error has its words; if it never listens, the error has the time that it had.
func TestVMNFSUnserved(t *testing.T) {
	t.Parallel()
	needGanesha(t)
	for name, tt := range map[string]struct{ script, want string }{
		"ends":         {"echo 'nfs-ganesha[main] main :FATAL :Server exiting...' >&2; exit 2", "the share's daemon ended: exit status 2: nfs-ganesha[main] main :FATAL :Server exiting..."},
		"never serves": {"echo 'it waits' >&2; exec sleep 1000", "the share's daemon was not ready within 20s: it waits"},
		"no version":   {"exit 1", "doesn't run: exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			// In /tmp it would be hidden by what is Ganesha's own there.
			dir, err := os.MkdirTemp("/var/tmp", "plimsoll-test-")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			fake := filepath.Join(dir, "ganesha.nfsd")
			script := "#!/bin/sh\n[ $1 != -v ] || { echo NFS-Ganesha Release = V4.3; exit; }\n" + tt.script + "\n"
			if name == "no version" {
				script = "#!/bin/sh\n" + tt.script + "\n"
			}
			if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			o := nfsOptions(t, t.TempDir())
			o.LookPath = func(name string) (string, error) {
				if name == "ganesha.nfsd" {
					return fake, nil
				}
				return exec.LookPath(name)
			}
			spec := bindSpec
			spec.ID = "unserved-1"
			_, err = vm.New(o).Open(t.Context(), spec)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open() = %v, want it to say %q", err, tt.want)
			}
			wantNothingLeft(t, o.State, spec.ID)
		})
	}
}
