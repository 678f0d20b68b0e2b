package plimsoll_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestSetupVirtiofsd: the daemon is built once, whole or not at all. If it can't be built, the set-up continues and says why.
func TestSetupVirtiofsd(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a Linux is needed")
	}
	// A stand-in for cargo that records its arguments and its settings for the registry, and "builds" if the arguments are right.
	const cargo = `#!/bin/sh
[ "$1" = --version ] && { echo "cargo VERSION (x 2022-01-01)"; exit; }
echo "$* ${CARGO_UNSTABLE_SPARSE_REGISTRY:-}" >>"$0.log"
while [ "$1" != --root ]; do shift; done
mkdir -p "$2/bin" "$2/target"
printf '#!/bin/sh\n' >"$2/bin/virtiofsd"
chmod 755 "$2/bin/virtiofsd"
exit STATUS
`
	const skipped = "so the tests with the virtiofsd in Rust will be skipped"
	for _, tt := range []struct {
		name, version, status, said string
		// built: the program exists afterwards; sparse: cargo is set to fetch only the needed part of the index.
		built, sparse bool
	}{
		{"none", "", "0", "there is no cargo, " + skipped, false, false},
		{"too old", "1.57.0", "0", "cargo 1.57.0 (x 2022-01-01) is too old, " + skipped, false, false},
		{"fails", "1.95.0", "101", "virtiofsd could not be built, " + skipped, false, false},
		{"Debian 12's", "1.65.0", "0", "building virtiofsd 1.6.1 into ", true, true},
		{"new", "1.95.0", "0", "building virtiofsd 1.6.1 into ", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cache, bin := t.TempDir(), t.TempDir()
			for _, tool := range []string{"bash", "sh", "cat", "sed", "mkdir", "mktemp", "mv", "rm", "dirname", "chmod"} {
				real, err := exec.LookPath(tool)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(real, filepath.Join(bin, tool)); err != nil {
					t.Fatal(err)
				}
			}
			script := strings.NewReplacer("VERSION", tt.version, "exit STATUS", "exit "+tt.status).Replace(cargo)
			if tt.version != "" {
				if err := os.WriteFile(filepath.Join(bin, "cargo"), []byte(script), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 2 {
				cmd := exec.Command(filepath.Join(bin, "bash"), "scripts/setup-virtiofsd")
				cmd.Env = []string{"PATH=" + bin, "XDG_CACHE_HOME=" + cache}
				said, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, said)
				}
				want := tt.said
				if i > 0 && tt.built {
					want = ""
				}
				if !strings.Contains(string(said), want) || want == "" && len(said) > 0 {
					t.Errorf("time %d: it said %q, want %q", i, said, want)
				}
			}
			var want []string
			if tt.built {
				want = []string{"virtiofsd-1.6.1", "virtiofsd-1.6.1/bin", "virtiofsd-1.6.1/bin/virtiofsd"}
			}
			var got []string
			top := filepath.Join(cache, "plimsoll")
			_ = filepath.WalkDir(top, func(path string, _ os.DirEntry, err error) error {
				if rel, _ := filepath.Rel(top, path); err == nil && rel != "." {
					got = append(got, rel)
				}
				return nil
			})
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("in the cache are %q, want %q", got, want)
			}
			log, _ := os.ReadFile(filepath.Join(bin, "cargo.log"))
			if !tt.built {
				return
			}
			if !strings.HasPrefix(string(log), "install --quiet --locked ") || strings.Count(string(log), "\n") != 1 {
				t.Errorf("cargo was asked %q, want to install once", log)
			}
			if sparse := strings.HasSuffix(string(log), " true\n"); sparse != tt.sparse {
				t.Errorf("cargo's index is sparse: %v, want %v: %q", sparse, tt.sparse, log)
			}
		})
	}
}
