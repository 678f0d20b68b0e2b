package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure/workerbin"
	"plimsoll/internal/testkit/texttest"
	"plimsoll/internal/testkit/winetest"
)

// TestPlimsollExe runs plimsoll.exe itself, which starts its own worker there: lines of DiskSpd and fio, a recorded line, and what was recorded.
func TestPlimsollExe(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a program")
	}
	w := winetest.Find(t)
	if workers, err := filepath.Glob("../../internal/measure/workerbin/windows/worker-*"); err != nil || len(workers) == 0 {
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
	t.Run("lines", func(t *testing.T) { exeLines(t, w, exe) })
	t.Run("flags", func(t *testing.T) { exeFlags(t, w, exe) })
}

// exeLines runs lines and looks at what is printed.
func exeLines(t *testing.T, w *winetest.Wine, exe string) {
	for _, c := range []struct {
		line  string
		wants []string
	}{
		{`diskspd -b8K -d1 -W0 -o4 -t2 -h -r -w25 -L -Z1M -c5M C:\iotest.dat`,
			[]string{`diskspd -b8K -d1 -W0 -o4 -t2 -h -r -w25 -L -Z1M -c5M C:\iotest.dat`, "Total IO\n", "%-ile |", `path: 'C:\iotest.dat'`}},
		{`diskspd --record --destructive C:\iotest.dat -b4K -d1 -W0 -w100 -c5M C:\iotest.dat`, []string{"Write IO\n"}},
		{`fio --name=a --rw=randread --size=1m --number_ios=100 --filename=C\:\a.dat`, []string{"a: (groupid=0, jobs=1)"}},
		{`results show last`, []string{": windows,", "timespan 1/host/dir"}},
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
		texttest.Has(t, strings.ReplaceAll(out, "\r\n", "\n"), c.wants, c.line)
	}
	// No socket of Linux is asked.
	out, err := w.Run(t, exe, "--state", `C:\state`, "limit", "show", "web")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitCannot {
		t.Errorf("plimsoll.exe limit show web: %v, want status %d\n%s", err, exitCannot, out)
	}
	texttest.Has(t, out, []string{"limits can be set only on Linux"})
	texttest.Lacks(t, out, []string{"podman"})
}

// exeFlags: the file that is measured is opened without buffers, or through the disk's cache, as the line says
// (https://github.com/microsoft/diskspd/wiki/Command-line-and-parameters, -S; fio's HOWTO, direct and sync). Wine takes the
// flags and goes on as without them, so that no figure tells.
func exeFlags(t *testing.T, w *winetest.Wine, exe string) {
	const target, fio = ` -b8K -d1 -W0 -o4 -t2 -r -w25 -c1M C:\flags.dat`, `fio --name=a --rw=randwrite --size=1m --number_ios=10 --filename=C\:\flags.dat`
	const unbuffered, through, overlapped = winetest.NoBuffering, winetest.WriteThrough, winetest.Overlapped
	for line, want := range map[string]uint32{
		"diskspd -Sh" + target:          overlapped | unbuffered | through,
		"diskspd -h" + target:           overlapped | unbuffered | through,
		"diskspd -Suw" + target:         overlapped | unbuffered | through,
		"diskspd -Su" + target:          overlapped | unbuffered,
		"diskspd -Sw" + target:          overlapped | through,
		"diskspd -Sb" + target:          overlapped,
		"diskspd" + target:              overlapped,
		fio + " --direct=1":             unbuffered,
		fio + " --sync=1":               through,
		fio + " --direct=1 --sync=sync": unbuffered | through,
		fio:                             0,
	} {
		// Nothing marks the file as Plimsoll's there, so that each line but the first writes over it by leave.
		args := append(strings.Fields(line), "--destructive", `C:\flags.dat`)
		opens, err := w.Opened(t, `C:\flags.dat`, exe, append([]string{"--state", `C:\state`}, args...)...)
		if err != nil {
			t.Errorf("plimsoll.exe %s: %v", line, err)
			continue
		}
		// The file is looked at and laid out before; each thread of overlapped I/O opens it again.
		var measured []uint32
		for i, flags := range opens {
			if flags&overlapped != 0 || want&overlapped == 0 && i == len(opens)-1 {
				measured = append(measured, flags&(overlapped|unbuffered|through))
			}
		}
		if len(measured) == 0 || slices.ContainsFunc(measured, func(f uint32) bool { return f != want }) {
			t.Errorf("plimsoll.exe %s measures a file opened with %#x of %#x, want %#x", line, measured, opens, want)
		}
	}
}
