package fio

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// file_append begins at the end of the file, of whatever length, keeps what is before it, and makes a file that isn't there.
func TestFileAppendIsFios(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"write":     {"--rw=write", "--bs=4k", "--size=16k"},
		"randwrite": {"--rw=randwrite", "--bs=4k", "--size=16k", "--offset=1m"},
		"libaio":    {"--rw=write", "--bs=4k", "--size=16k", "--ioengine=libaio", "--iodepth=4"},
		"overwrite": {"--rw=write", "--bs=4k", "--size=16k", "--overwrite=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for who, do := range map[string]func(*testing.T, string, ...string) string{"fio": peer, "ours": run} {
				dir := t.TempDir()
				do(t, dir, "--name=before", "--filename=f", "--rw=write", "--bs=5000", "--size=20000")
				before, err := os.ReadFile(filepath.Join(dir, "f"))
				if err != nil || len(before) != 20000 {
					t.Fatalf("%s: %d bytes, %v", who, len(before), err)
				}
				out := do(t, dir, append([]string{"--name=a", "--filename=f", "--file_append=1"}, args...)...)
				after, err := os.ReadFile(filepath.Join(dir, "f"))
				if err != nil || len(after) != 36384 {
					t.Fatalf("%s: %d bytes, %v; want 36384", who, len(after), err)
				}
				if !bytes.Equal(after[:20000], before) {
					t.Errorf("%s changed the bytes that were there", who)
				}
				if bytes.Contains(after[20000:], make([]byte, 4096)) {
					t.Errorf("%s left zeros behind the bytes that were there", who)
				}
				if got := issued(out); len(got) != 1 || got[0] != "0,4,0" {
					t.Errorf("%s did %v", who, got)
				}
				do(t, dir, append([]string{"--name=a", "--filename=below/new", "--file_append=1"}, args...)...)
				if st, err := os.Stat(filepath.Join(dir, "below", "new")); err != nil || st.Size() != 16384 {
					t.Errorf("%s: %v, %v", who, st, err)
				}
			}
		})
	}
	// A file of the user's is not made longer without leave.
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "theirs"), []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tryRun(t, dir, nil, "--name=a", "--filename=theirs", "--rw=write", "--size=8k", "--file_append=1"); err == nil || !strings.Contains(err.Error(), "--destructive") {
		t.Errorf("a file of the user's: %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "theirs")); string(data) != "kept" {
		t.Errorf("it holds %q, %v", data, err)
	}
}

// Lines that would work in another way than in fio are refused. Without passes unlink_each_loop has nothing to do.
func TestPassesThatAreRefused(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"rw=read is":              {"--rw=read", "--file_append=1", "--size=4k"},
		"size in bytes":           {"--rw=write", "--file_append=1", "--filename=f"},
		"several files":           {"--rw=write", "--file_append=1", "--size=8k", "--nrfiles=2"},
		"loops=2 is":              {"--rw=write", "--file_append=1", "--size=8k", "--loops=2"},
		"measurement can't pause": {"--rw=write", "--unlink_each_loop=1", "--size=8k", "--loops=2"},
	} {
		if _, err := Parse(append([]string{"--name=a"}, args...), Source{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
	for _, args := range [][]string{{"--size=8k"}, {"--size=8k", "--time_based", "--runtime=50ms", "--loops=3"}} {
		args = append([]string{"--name=a", "--rw=write", "--filename=f", "--unlink_each_loop=1"}, args...)
		for who, do := range map[string]func(*testing.T, string, ...string) string{"fio": peer, "ours": run} {
			dir := t.TempDir()
			do(t, dir, args...)
			if st, err := os.Stat(filepath.Join(dir, "f")); err != nil || st.Size() != 8192 {
				t.Errorf("%s %q: %v, %v", who, args, st, err)
			}
		}
	}
}
