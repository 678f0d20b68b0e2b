package fio

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure/dialect/dialecttest"
	"plimsoll/internal/testkit/golden"
)

// tree makes files of different length in a folder: two in it, one of them empty, and one in a folder below.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/d/sub", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"d/a": 256 << 10, "d/empty": 0, "d/sub/b": 76 << 10} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("x", size)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", dir+"/d/link"); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestFilesOfDifferentLengthAreRead: without a size, or with one in percent, each file is read in full, or that part of it, as with fio. The
// shortest counted for all before. opendir takes all files of a folder.
func TestFilesOfDifferentLengthAreRead(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"--filename=d/a:d/sub/b --rw=read",
		"--filename=d/a:d/sub/b --rw=randread --ioengine=libaio --iodepth=8",
		"--filename=d/a:d/sub/b --rw=randread --norandommap",
		"--filename=d/a:d/sub/b --rw=read --size=50%",
		"--filename=d/a:d/sub/b --rw=read --offset=32k --loops=2",
		"--filename=d/a:d/sub/b --rw=read --bs=48k --file_service_type=sequential",
		"--filename=d/a:d/sub/b --rw=randread --readonly",
		"--opendir=d --rw=read",
		"--opendir=d --rw=randread --io_size=1m --numjobs=2",
		"--opendir=d --rw=read --bs=64k",
		"--opendir=d/sub --rw=read",
	} {
		args := append([]string{"--name=a"}, strings.Fields(line)...)
		theirs, ours := issued(peer(t, tree(t), args...)), issued(run(t, tree(t), args...))
		if !slices.Equal(theirs, ours) || len(ours) == 0 {
			t.Errorf("%s: did %v, fio %v", line, ours, theirs)
		}
	}
	var refused golden.Sheet
	dir := tree(t)
	for _, line := range []string{
		"--opendir=nonesuch",
		"--opendir=d/sub/none",
		"--opendir=d --rw=write",
		"--opendir=d --filename=x",
		"--opendir=d --size=10%",
		"--filesize=64k-4k --nrfiles=2",
		"--filesize=4k-64k --nrfiles=2 --size=50%",
	} {
		test, err := Parse(append([]string{"--name=a"}, strings.Fields(line)...), Source{})
		if err == nil {
			err = test.Run(t.Context(), &dialecttest.Local{Dir: dir}, io.Discard, io.Discard, RunOptions{})
		}
		if err == nil {
			t.Errorf("%s is taken", line)
		}
		refused.Add(line, err)
	}
	refused.Check(t, "refused-files.txt", golden.Text(dir, "DIR"))
}

// TestRangesOfFileSizes: files have sizes from the range, in blocks, the same in each run; all of them is read, or as much as size says.
func TestRangesOfFileSizes(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"--filesize=8k-64k --nrfiles=6 --rw=read",
		"--filesize=8k:64k --nrfiles=6 --rw=randwrite --bs=8k",
		"--filesize=8k-16k/32k-64k --nrfiles=6 --rw=read --loops=2",
		"--filesize=8k-64k --nrfiles=6 --rw=randread --size=64k",
		"--filesize=8k-64k --rw=read --numjobs=2",
		"--filesize=8k-64k --nrfiles=3 --rw=randwrite --verify=crc32c",
	} {
		args := append([]string{"--name=a"}, strings.Fields(line)...)
		var names [2][]string
		var sizes [3]map[string]int64
		for i, do := range []func(*testing.T, string, ...string) string{peer, run, run} {
			dir := t.TempDir()
			text := do(t, dir, args...)
			sizes[i] = madeFiles(t, dir)
			names[min(i, 1)] = slices.Sorted(maps.Keys(sizes[i]))
			names[min(i, 1)] = slices.DeleteFunc(names[min(i, 1)], func(s string) bool { return strings.HasSuffix(s, ".state") })
			sum, did := int64(0), int64(0)
			for name, n := range sizes[i] {
				if strings.HasSuffix(name, ".state") {
					continue
				}
				if sum += n; n < 8<<10 || n > 64<<10 || n%4096 != 0 {
					t.Errorf("%s: %s has %d bytes", line, name, n)
				}
			}
			for _, s := range issued(text) {
				did += mostOf(s)
			}
			unit := int64(4096)
			if strings.Contains(line, "bs=8k") {
				unit = 8192
			}
			want := sum / unit
			if strings.Contains(line, "loops=2") {
				want *= 2
			}
			if strings.Contains(line, "size=64k") && strings.Contains(line, " --size") {
				want = 16
			}
			if did != want {
				t.Errorf("%s: did %d I/Os in %d bytes of files, want %d (run %d)", line, did, sum, want, i)
			}
		}
		if !slices.Equal(names[0], names[1]) || !maps.Equal(sizes[1], sizes[2]) {
			t.Errorf("%s: files %v and again %v, fio's %v", line, sizes[1], sizes[2], sizes[0])
		}
	}
}

// mostOf is the greatest of the reads, writes and trims of a line of counts.
func mostOf(s string) (most int64) {
	for _, f := range strings.Split(s, ",") {
		n := int64(0)
		for _, c := range f {
			n = n*10 + int64(c-'0')
		}
		most = max(most, n)
	}
	return most
}
