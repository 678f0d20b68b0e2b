package main

import (
	"bytes"
	"debug/elf"
	"testing"

	"plimsoll/internal/measure/workerbin"
	"plimsoll/internal/testkit/workertest"
)

// maxWorker bounds the worker's program in bytes: it is copied into each container of a
// user's image. It has 5.0 MB; "a few MB" is what docs/reference/docker.md promises.
const maxWorker = 5 << 20

// TestStatic: the worker of each architecture runs in a container that holds nothing else:
// no interpreter, no library. What make has embedded is looked at, too.
func TestStatic(t *testing.T) {
	sources := map[string]func(goos, goarch string) ([]byte, error){"built": workertest.Source(t)}
	if _, err := workerbin.Bytes("linux", "amd64"); err == nil {
		sources["embedded"] = workerbin.Bytes
	}
	for name, source := range sources {
		for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
			b, err := source("linux", arch)
			if err != nil {
				t.Errorf("%s %s: %v", name, arch, err)
				continue
			}
			checkStatic(t, name+" "+arch, b, machine)
		}
	}
}

func checkStatic(t *testing.T, name string, b []byte, machine elf.Machine) {
	t.Helper()
	if len(b) > maxWorker {
		t.Errorf("%s: %d bytes, want %d at most", name, len(b), maxWorker)
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if f.Machine != machine || f.Class != elf.ELFCLASS64 || f.Type != elf.ET_EXEC {
		t.Errorf("%s: %v %v %v, want a program for %v", name, f.Class, f.Type, f.Machine, machine)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("%s: it has a %v, and is not static", name, p.Type)
		}
	}
	// A file without a dynamic section has none, which is no error.
	if libs, err := f.ImportedLibraries(); err != nil || len(libs) > 0 {
		t.Errorf("%s: it needs %v, %v", name, libs, err)
	}
}
