package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/workerbin"
)

// release is the version of this source; CHANGELOG.md lists what it can do.
const release = "0.1.0"

// commit is the source's commit, which the linker sets; empty if it is unknown.
var commit string

// version goes into each record: 0.1.0, or 0.1.0+COMMIT.
var version = strings.TrimSuffix(release+"+"+commit, "+")

// workerSystems are the systems that a container may have; the Makefile builds a worker for each. A plimsoll for
// Windows also has one for Windows.
var workerSystems = func() []string {
	all := []string{"linux/amd64", "linux/arm64"}
	if runtime.GOOS == "windows" {
		all = append(all, "windows/amd64")
	}
	return all
}()

// A buildInfo says what this program consists of.
type buildInfo struct {
	Version string `json:"version"`
	// Go is the compiler's version, OS and Arch are what it was built for.
	Go   string `json:"go"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	// Commit is the commit of the source, with "+changes" if the source was modified; empty if the build didn't record
	// it.
	Commit string `json:"commit,omitempty"`
	// Workers are the embedded workers' SHA-256 by system. Two programs with the same
	// hash do the same I/O.
	Workers map[string]string `json:"workers"`
}

func newBuildInfo() buildInfo {
	b := buildInfo{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Workers: map[string]string{}}
	if info, ok := debug.ReadBuildInfo(); ok {
		changed := ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				b.Commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = "+changes"
			}
		}
		if b.Commit != "" {
			b.Commit += changed
		}
	}
	for _, system := range workerSystems {
		goos, arch, _ := strings.Cut(system, "/")
		if hash, err := workerbin.Hash(goos, arch); err == nil {
			b.Workers[system] = hash
		}
	}
	return b
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and the parts of this program",
		Long: `Print the version of this program, its Go compiler, the system that it was built
for, and the SHA-256 of the workers in it, which do the I/O.`,
		Example: `  plimsoll version
  plimsoll version --json`,
		Args: exactly(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			b := newBuildInfo()
			if asJSON {
				return a.printJSON(b)
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintf(w, "plimsoll\t%s\n", b.Version)
			fmt.Fprintf(w, "go\t%s\n", b.Go)
			fmt.Fprintf(w, "system\t%s/%s\n", b.OS, b.Arch)
			if b.Commit != "" {
				fmt.Fprintf(w, "commit\t%s\n", b.Commit)
			}
			for _, system := range workerSystems {
				fmt.Fprintf(w, "worker\t%s sha256:%s\n", system, cmp.Or(b.Workers[system], "none: build plimsoll with 'make build'"))
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
