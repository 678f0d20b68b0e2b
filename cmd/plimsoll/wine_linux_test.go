package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/winetest"
	"plimsoll/internal/workerbin"
)

// TestPlimsollExe runs plimsoll.exe itself, which starts its own worker there: E4's line as it stands, a recorded line, and what was recorded.
func TestPlimsollExe(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	w := winetest.Find(t)
	if workers, err := filepath.Glob("../../internal/workerbin/windows/worker-*"); err != nil || len(workers) == 0 {
		t.Fatalf("no worker for Windows: build it with 'make workers': %v", err)
	}
	exe := filepath.Join(t.TempDir(), "plimsoll.exe")
	build := exec.Command("go", "build", "-o", exe, ".")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build plimsoll for Windows: %v\n%s", err, out)
	}
	if _, err := workerbin.Bytes("windows", "amd64"); err == nil {
		t.Error("a plimsoll for Linux carries the worker for Windows")
	}
	for _, c := range []struct {
		line  string
		wants []string
	}{
		{`diskspd -b8K -d1 -W0 -o4 -t2 -h -r -w25 -L -Z1M -c5M C:\iotest.dat`,
			[]string{`diskspd -b8K -d1 -W0 -o4 -t2 -h -r -w25 -L -Z1M -c5M C:\iotest.dat`, "Total IO\n", "%-ile |", `path: 'C:\iotest.dat'`}},
		{`diskspd --record --destructive C:\iotest.dat -b4K -d1 -W0 -w100 -c5M C:\iotest.dat`, []string{"Write IO\n"}},
		{`fio --name=a --rw=randread --size=1m --number_ios=100 --filename=C\:\a.dat`, []string{"a: (groupid=0, jobs=1)"}},
		{`results show last`, []string{": windows,", "host/dir/timespan 1"}},
		{`doctor`, []string{"no      engine docker: no daemon's pipe at //./pipe/docker_engine\n", "fix: install and start Docker Desktop, or Docker Engine and its service (Start-Service docker), or set DOCKER_HOST\n"}},
		{`version`, []string{"worker    windows/amd64 sha256:"}},
	} {
		out, err := w.Run(t, exe, append([]string{"--state", `C:\state`}, strings.Fields(c.line)...)...)
		if err != nil {
			t.Errorf("plimsoll.exe %s: %v\n%s", c.line, err, out)
		}
		if strings.Contains(out, "apt-get") {
			t.Errorf("plimsoll.exe %s advises what Windows hasn't:\n%s", c.line, out)
		}
		for _, want := range c.wants {
			if !strings.Contains(strings.ReplaceAll(out, "\r\n", "\n"), want) {
				t.Errorf("plimsoll.exe %s prints no %q:\n%s", c.line, want, out)
			}
		}
	}
}
