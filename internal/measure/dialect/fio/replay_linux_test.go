package fio

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"plimsoll/load"
)

// ioLogs are logs of fio's, of both versions and of two files.
var ioLogs = map[string]string{
	"version 2": "fio version 2 iolog\nx add\nx open\nx write 0 4096\nx wait 100 0\nx read 0 4096\nx sync 0 0\nx datasync 0 0\nx write 8192 8192\nx close\n",
	"version 3": "fio version 3 iolog\n0 y add\n5 y open\n10 y write 0 4096\n50010 y write 4096 4096\n50020 y sync 0 0\n50030 y read 0 8192\n90040 y write 65536 4096\n90040 y close\n",
	"two files": "fio version 2 iolog\nx add\ny add\nx open\ny open\nx write 0 4096\ny write 0 4096\nx read 0 4096\ny write 8192 4096\n",
}

// A log is replayed as by fio: with as many reads and writes, and with zeros where fio writes zeros.
func TestReplaysAsFio(t *testing.T) {
	t.Parallel()
	for name, log := range ioLogs {
		for _, line := range []string{"", "--ioengine=libaio --iodepth=4 --direct=1", "--replay_redirect=z", "--replay_no_stall=1 --replay_time_scale=50 --read_iolog_chunked=0", "--replay_align=4k --loops=3"} {
			t.Run(name+line, func(t *testing.T) {
				t.Parallel()
				args := append([]string{"--name=j", "--read_iolog=log", "--buffer_pattern=0x77"}, strings.Fields(line)...)
				dirs := [2]string{t.TempDir(), t.TempDir()}
				for _, dir := range dirs {
					if err := os.WriteFile(filepath.Join(dir, "log"), []byte(log), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				sameIO(t, peer(t, dirs[0], args...), run(t, dirs[1], args...))
				for _, f := range []string{"x", "y", "z"} {
					theirs, err := os.ReadFile(filepath.Join(dirs[0], f))
					ours, ourErr := os.ReadFile(filepath.Join(dirs[1], f))
					if os.IsNotExist(err) != os.IsNotExist(ourErr) {
						t.Errorf("%s: fio: %v, ours: %v", f, err, ourErr)
					}
					for at := 0; at < len(theirs); at += 512 {
						// The rest of fio's is a hole, of ours the layout's data.
						block := bytes.Repeat([]byte{0x77}, 512)
						if a, b := bytes.Equal(theirs[at:at+512], block), at+512 <= len(ours) && bytes.Equal(ours[at:at+512], block); a != b {
							t.Fatalf("%s: offset %d: fio wrote %v, ours %v", f, at, a, b)
						}
					}
				}
			})
		}
	}
}

// A log that is written is one of fio's: fio does what it says, and so do we.
func TestIOLogsAreFios(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"--rw=randrw --bs=4k", "--rw=randread --bs=8k --ioengine=libaio --direct=1 --iodepth=4", "--rw=write --bs=4k --numjobs=2"} {
		dir := t.TempDir()
		did := issued(run(t, dir, append([]string{"--name=j", "--size=64k", "--write_iolog=log"}, strings.Fields(line)...)...))
		text, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		head := "fio version 3 iolog\n0 j.0.0 add\n0 j.0.0 open\n"
		if !strings.HasPrefix(string(text), head) || !strings.HasSuffix(string(text), " close\n") {
			t.Errorf("%s: the log is\n%s", line, text)
		}
		again := filepath.Join(t.TempDir(), "again")
		if err := os.Mkdir(again, 0o700); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := os.WriteFile(filepath.Join(again, "log"), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		play := []string{"--name=r", "--read_iolog=log"}
		ours := issued(run(t, again, play...))
		// Fio reads beyond the end of a file that it makes: it has ours.
		if theirs := issued(peer(t, again, play...)); strings.Join(theirs, " ") != strings.Join(ours, " ") {
			t.Errorf("%s: fio did %v, ours %v", line, theirs, ours)
		}
		var sum [2]int
		for _, one := range did {
			var r, w, trims int
			fmt.Sscanf(one, "%d,%d,%d", &r, &w, &trims)
			sum[0], sum[1] = sum[0]+r, sum[1]+w
		}
		if want := fmt.Sprintf("%d,%d,0", sum[0], sum[1]); ours[0] != want {
			t.Errorf("%s: replayed %v of %s", line, ours, want)
		}
	}
}

// Logs that are none, or that say what isn't done, are refused with their line.
func TestRefusedLogs(t *testing.T) {
	for log, want := range map[string]string{
		"": "its first line", "fio version 1 iolog\n": "its first line", "\x07\x74\x61\x65...": "binary trace of blktrace",
		"fio version 2 iolog\nx add\nx trim 0 4096\n":                   "line 3: trims",
		"fio version 2 iolog\nx write 0 4096\n":                         "line 2: x was not added",
		"fio version 2 iolog\nx add\nx write 0\n":                       "line 3: a line needs a file",
		"fio version 3 iolog\nx add\n":                                  "line 2: a time",
		"fio version 2 iolog\nx add\nx write -1 4096\n":                 "line 3: an offset",
		"fio version 2 iolog\nx add\nx read 0 0\n":                      "line 3: the size is 0",
		"fio version 2 iolog\nx add\nx move 0 1\n":                      `"move" is not one of`,
		"fio version 2 iolog\nx add\n":                                  "contains no I/O",
		"fio version 2 iolog\nx add\nx read 9223372036854775807 4096\n": "end beyond the largest possible file",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "log"), []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Parse([]string{"--name=j", "--read_iolog=log"}, fileSource(dir)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", log, err, want)
		}
	}
	for line, want := range map[string]string{
		"--read_iolog=none":                                 "none",
		"--read_iolog=log --verify=crc32c":                  "can't be verified",
		"--read_iolog=log --rate_iops=5":                    "times of its own",
		"--write_iolog=l --size=1m --fsync=1":               "records no syncs",
		"--write_iolog=l --size=1m --nrfiles=2":             "several files",
		"--write_iolog=l --rw=write --size=1m --verify=md5": "do_verify=0",
		"--read_iolog=log --replay_align=1000":              "power of two",
	} {
		if _, err := Parse(append([]string{"--name=j"}, strings.Fields(line)...), fileSource(t.TempDir())); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// TestReplayContent: what recorded writes are made of is what other jobs' are, a pattern in the place of zeros among it, which was refused.
func TestReplayContent(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "log"), []byte("fio version 2 iolog\nx add\nx open\nx write 0 4096\nx close\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"--buffer_compress_percentage=50 --buffer_pattern=0x77", "--buffer_pattern=0x77", "--zero_buffers", "--dedupe_percentage=30", "--refill_buffers"} {
		of := func(rest string) load.Job {
			test, err := Parse(strings.Fields("--name=j "+rest+" "+line), fileSource(dir))
			if err != nil {
				t.Fatal(err)
			}
			j := test.stages[0][0].load
			return load.Job{Data: j.Data, Pattern: j.Pattern, Compress: j.Compress, Dedupe: j.Dedupe, Refill: j.Refill}
		}
		if a, b := of("--read_iolog=log"), of("--rw=write --size=4k"); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: recorded writes are %+v, others %+v", line, a, b)
		}
	}
}
