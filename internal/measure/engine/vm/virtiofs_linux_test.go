package vm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// eachVirtioFS calls test with each of the two daemons of virtiofs: that in C, which Debian 12 has, and that in Rust, which scripts/setup-virtiofsd builds.
// o returns options of machines that are served by it.
func eachVirtioFS(t *testing.T, test func(t *testing.T, language string, o func(t *testing.T, state string) vm.Options)) {
	t.Helper()
	needVM(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []struct{ language, pattern, missing string }{
		{"C", "/usr/lib/qemu/virtiofsd", "the virtiofsd in C is needed, which is in Debian 12's qemu-system-common"},
		{"Rust", filepath.Join(cache, "plimsoll/virtiofsd-*/bin/virtiofsd"), "the virtiofsd in Rust is needed: scripts/setup-virtiofsd builds it where there is a cargo"},
	} {
		t.Run(d.language, func(t *testing.T) {
			found, err := filepath.Glob(d.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) == 0 {
				t.Skip(d.missing)
			}
			test(t, d.language, func(t *testing.T, state string) vm.Options {
				o := testOptions(t, state)
				o.Share, o.LookPath = vm.ShareVirtioFS, instead("virtiofsd", found[0])
				return o
			})
		})
	}
}

// instead finds a program in another place than on the PATH.
func instead(program, path string) func(string) (string, error) {
	return func(name string) (string, error) {
		if name == program {
			return path, nil
		}
		return exec.LookPath(name)
	}
}

// TestVMVirtioFSSuite: an engine with a share by virtiofs does what the others do, with either daemon. Each machine of virtiofs boots, so that the
// second daemon has only those tests in which it serves and ends.
func TestVMVirtioFSSuite(t *testing.T) {
	only := map[string][]string{"C": nil, "Rust": {"Workloads", "KilledAgent", "HardClose"}}
	eachVirtioFS(t, func(t *testing.T, language string, o func(*testing.T, string) vm.Options) {
		state := sharedState(t)
		enginetest.Suite{
			New:    func(t *testing.T) engine.Engine { return vm.New(o(t, state)) },
			Places: []place.Kind{place.Bind, place.Layer},
			Guest:  true, Share: true, Only: only[language],
		}.Run(t)
	})
}

// TestVMVirtioFSCache: what a guest keeps of a share is what the daemon is not asked for again: with none nothing, with auto a file until it is opened anew, with always
// all of it. What is read with O_DIRECT the daemon reads so, too. The record names the daemon.
func TestVMVirtioFSCache(t *testing.T) {
	const size, reads, bs = 256 << 10, 500, 4096
	eachVirtioFS(t, func(t *testing.T, language string, o func(*testing.T, string) vm.Options) {
		for mode, want := range map[string]struct{ least, most int64 }{
			"none":   {reads * bs, 2 * reads * bs},
			"auto":   {size * 3 / 4, 2 * size},
			"always": {0, size / 4},
		} {
			t.Run(mode, func(t *testing.T) {
				options, id := o(t, sharedState(t)), "cache-"+mode
				options.ShareCache = mode
				a := openVM(t, vm.New(options), id, bindSpec)
				defer wantNothingLeft(t, options.State, id)
				defer a.Close(t.Context())
				if got, named := a.Info().Storage, regexp.MustCompile(`^virtiofs, virtiofsd [0-9.]+ \(`+language+`\), cache=`+mode+`$`); !named.MatchString(got) {
					t.Errorf("Storage = %q, want %s", got, named)
				}
				daemon := processOf("virtiofsd", id)
				if daemon == 0 {
					t.Fatal("no virtiofsd is to be found")
				}
				job := load.Job{RW: load.RandRead, BS: bs, Size: size, NumberIOs: reads, IOEngine: load.PSync}
				randomReads(t, a, "1", job)
				// Named, it is not looked at first, which would drop it from the guest's page cache.
				job.Filename = filepath.Join(a.Hello.Dir, fmt.Sprintf("block-%d.dat", size))
				before := bytesRead(t, daemon)
				randomReads(t, a, "2", job)
				if got := bytesRead(t, daemon) - before; got < want.least || got > want.most {
					t.Errorf("the daemon has read %d bytes for %d reads of a file of %d that was read before, want %d to %d", got, reads, size, want.least, want.most)
				}
				job.Direct = true
				if err := a.Prepare(t.Context(), "3", workload.Spec{Name: "direct", Kind: workload.Block, Job: job}); err != nil {
					t.Fatal(err)
				}
				if files := openDirect(t, daemon); len(files) != 1 || filepath.Base(files[0]) != filepath.Base(job.Filename) {
					t.Errorf("the daemon has %q open with O_DIRECT, want the file of the job that is about to begin", files)
				}
			})
		}
	})
}

// randomReads does a job.
func randomReads(t *testing.T, a *agent.Agent, id string, job load.Job) {
	t.Helper()
	if err := a.Prepare(t.Context(), id, workload.Spec{Name: "read", Kind: workload.Block, Job: job}); err != nil {
		t.Fatal(err)
	}
	if err := a.Start(id); err != nil {
		t.Fatal(err)
	}
	res, err := a.Wait(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Ops() != job.NumberIOs {
		t.Errorf("%d reads, want %d", res.Ops(), job.NumberIOs)
	}
}

// bytesRead is how much a process has read by system calls: proc(5), rchar.
func bytesRead(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "io"))
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	if _, err := fmt.Sscanf(string(b), "rchar: %d", &n); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return n
}

// openDirect lists the files that a process has open with O_DIRECT.
func openDirect(t *testing.T, pid int) (files []string) {
	t.Helper()
	fds, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "fdinfo", filepath.Base(fd)))
		if err != nil {
			continue // It is closed by now.
		}
		_, flags, _ := strings.Cut(string(b), "flags:\t")
		flags, _, _ = strings.Cut(flags, "\n")
		if n, err := strconv.ParseInt(flags, 8, 64); err != nil || n&unix.O_DIRECT == 0 {
			continue
		}
		if name, err := os.Readlink(fd); err == nil {
			files = append(files, name)
		}
	}
	return files
}

// TestVMVirtioFSNeverServes: if virtiofsd ends as it starts, or the program is no virtiofsd, the error has its words.
func TestVMVirtioFSNeverServes(t *testing.T) {
	needVM(t)
	for script, want := range map[string]string{
		"[ \"$1\" = --version ] && echo virtiofsd 1.0.0 && exit; echo 'error: unexpected argument --log-level' >&2; exit 2": "the share's daemon ended: exit status 2: error: unexpected argument --log-level",
		"echo something else": `virtiofsd doesn't run: it doesn't print its version; it prints "something else"`,
		"echo broken; exit 1": `virtiofsd doesn't run: exit status 1`,
	} {
		fake := filepath.Join(t.TempDir(), "virtiofsd")
		if err := os.WriteFile(fake, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		o := testOptions(t, t.TempDir())
		o.Share, o.LookPath = vm.ShareVirtioFS, instead("virtiofsd", fake)
		spec := bindSpec
		spec.ID = "never-2"
		_, err := vm.New(o).Open(t.Context(), spec)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open() with %q = %v, want it to say %q", script, err, want)
		}
		wantNothingLeft(t, o.State, "never-2")
	}
}
