package fio

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/conf/userfile"
	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/dialect/dialecttest"
	"plimsoll/internal/testkit/disktest"
)

// inHere runs a line with the files of the current folder.
func inHere(t *testing.T, session dialect.Session, args ...string) (string, error) {
	t.Helper()
	test, err := Parse(args, Source{ReadFile: dialecttest.ReadFile})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = test.Run(t.Context(), session, &out, io.Discard, RunOptions{Create: func(name string) (io.WriteCloser, error) { return userfile.Create(t.Context(), name) }})
	return out.String(), err
}

// TestOutputSparesTheFiles: what a line prints isn't written over what it reads, nor over what else it prints.
func TestOutputSparesTheFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	data := bytes.Repeat([]byte("precious"), 1<<10)
	job := []byte("[x]\nfilename=f\nrw=read\nbs=4k\nioengine=psync\n")
	if err := errors.Join(os.WriteFile("f", data, 0o600), os.WriteFile("job.fio", job, 0o600), os.WriteFile("a_bw.1.log", data, 0o600)); err != nil {
		t.Fatal(err)
	}
	line := []string{"--name=x", "--rw=read", "--bs=4k", "--ioengine=psync"}
	for want, args := range map[string][]string{
		"--output=./f: would overwrite " + dir + "/f, which the command line uses as a file of its jobs": append(line, "--filename=f", "--output=./f"),
		"--output=job.fio: would overwrite job.fio, which the command line uses as a job file":           {"job.fio", "--output=job.fio"},
		"the log a_bw.1.log: would overwrite " + dir + "/a_bw.1.log":                                     append(line, "--filename=a_bw.1.log", "--write_bw_log=a", "--log_avg_msec=100"),
		"the log a_bw.1.log: names the same file as --output=a_bw.1.log":                                 append(line, "--filename=f", "--write_bw_log=a", "--log_avg_msec=100", "--output=a_bw.1.log"),
	} {
		_, err := inHere(t, &dialecttest.Local{Dir: dir}, args...)
		var usage *dialect.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
	for name, want := range map[string][]byte{"f": data, "job.fio": job, "a_bw.1.log": data} {
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s was changed, %v", name, err)
		}
	}
	// A file of that name in a place is another.
	if out, err := inHere(t, elsewhere{&dialecttest.Local{Dir: t.TempDir()}}, append(line, "--filename=x.txt", "--size=8k", "--output=x.txt")...); err != nil || out != "" {
		t.Errorf("in a place: %q, %v", out, err)
	}
}

// elsewhere is a session whose files are elsewhere.
type elsewhere struct{ *dialecttest.Local }

func (elsewhere) Path(name string) string { return name }

// TestOutputWithoutSpace: the report of a line isn't lost where its file can't be written, nor what the file held.
func TestOutputWithoutSpace(t *testing.T) {
	full := disktest.Tmpfs(t, "size=16k")
	dir := t.TempDir()
	old, fresh := filepath.Join(full, "old"), filepath.Join(full, "fresh")
	if err := errors.Join(os.WriteFile(old, []byte("older"), 0o600), os.WriteFile(filepath.Join(full, "rest"), make([]byte, 8<<10), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{old, fresh} {
		out, err := inHere(t, &dialecttest.Local{Dir: dir}, "--name=x", "--rw=read", "--bs=4k", "--size=1m", "--ioengine=psync", "--output-format=normal,json+", "--output="+name)
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "--output="+name) || !strings.Contains(err.Error(), "standard output") {
			t.Errorf("%s: %v, want that there is no space", name, err)
		}
		if !strings.Contains(out, "Run status group 0") || !strings.Contains(out, `"fio version"`) {
			t.Errorf("%s: the report is lost: %q", name, out)
		}
	}
	if got, err := os.ReadFile(old); err != nil || string(got) != "older" {
		t.Errorf("the older file holds %q, %v", got, err)
	}
	if _, err := os.Stat(fresh); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file without the report is left: %v", err)
	}
}
