package fio

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/testkit/disktest"
)

// Trims do what fio's do on a device that takes them: as many, printed in the same places, and the data is gone.
func TestTrimsAreFios(t *testing.T) {
	t.Parallel()
	device := disktest.Loop(t, disktest.Image(t, 4<<20), false)
	fill := func() {
		if err := os.WriteFile(device, bytes.Repeat([]byte("x"), 4<<20), 0); err != nil {
			t.Fatal(err)
		}
	}
	for name, args := range map[string][]string{
		"all of it":       {"--rw=trim", "--bs=64k"},
		"part":            {"--rw=trim", "--bs=8k", "--size=1m", "--offset=1m"},
		"random":          {"--rw=randtrim", "--bs=64k", "--ioengine=libaio", "--iodepth=8", "--direct=1"},
		"sizes of trims":  {"--rw=trim", "--bs=4k,8k,256k", "--size=2m"},
		"split of trims":  {"--rw=randtrim", "--bssplit=4k/100,8k/100,128k/100", "--norandommap", "--number_ios=10"},
		"and writes":      {"--rw=trimwrite", "--bs=64k", "--zero_buffers"},
		"random, writes":  {"--rw=randtrimwrite", "--bs=64k", "--zero_buffers", "--size=2m", "--loops=2", "--direct=1"},
		"some writes":     {"--rw=trimwrite", "--bs=128k", "--number_ios=5", "--zero_buffers", "--fsync=1"},
		"beside a reader": {"--rw=trim", "--bs=512k", "--size=1m", "--name=k", "--rw=read", "--bs=4k", "--offset=2m", "--size=64k"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"--name=j", "--filename=" + device}, args...)
			if strings.Contains(name, "beside") {
				args = append(args, "--filename="+device)
			}
			fill()
			theirs := peer(t, t.TempDir(), args...)
			after, err := os.ReadFile(device)
			if err != nil {
				t.Fatal(err)
			}
			fill()
			ours, err := tryRun(t, t.TempDir(), []string{device}, args...)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := did(theirs), did(ours); a != b {
				t.Errorf("fio did\n%s\nours\n%s", a, b)
			}
			// Whether a job takes the half second that a sample needs is chance.
			sampled := func(l string) bool { return strings.HasPrefix(l, " bw (") || strings.HasPrefix(l, " iops :") }
			lines := func(text string) string { return strings.Join(slices.DeleteFunc(shape(text), sampled), "\n") }
			if a, b := lines(theirs), lines(ours); a != b && name != "split of trims" {
				t.Errorf("fio:\n%s\nours:\n%s", a, b)
			}
			got, err := os.ReadFile(device)
			if err != nil {
				t.Fatal(err)
			}
			if same := bytes.Equal(after, got); !same && name != "split of trims" || bytes.Count(got, []byte("x")) == len(got) {
				t.Errorf("what is left differs: fio left %d bytes, ours %d", bytes.Count(after, []byte("x")), bytes.Count(got, []byte("x")))
			}
		})
	}
	// It is no less destructive than a write.
	if _, err := tryRun(t, t.TempDir(), nil, "--name=j", "--filename="+device, "--rw=trim", "--bs=64k"); err == nil || !strings.Contains(err.Error(), "--destructive") {
		t.Errorf("without leave: %v", err)
	}
}

// A regular file can't be trimmed, as in fio, and is left as it is.
func TestTrimsNeedABlockDevice(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "--name=w", "--filename=f", "--rw=write", "--size=64k")
	before, err := os.ReadFile(dir + "/f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tryRun(t, dir, nil, "--name=j", "--filename=f", "--rw=trim", "--size=64k"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a regular file: %v", err)
	}
	if _, err := tryRun(t, dir, nil, "--name=j", "--rw=trim", "--size=64k"); err == nil {
		t.Error("a file that isn't there was trimmed")
	}
	if after, err := os.ReadFile(dir + "/f"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed: %v", err)
	}
	// The null engine has none, and may.
	if got := issued(run(t, dir, "--name=n", "--ioengine=null", "--rw=randtrim", "--size=64k")); len(got) != 1 || got[0] != "0,0,16" {
		t.Errorf("null did %v", got)
	}
}

// A trim may be larger than any buffer.
func TestTrimsOfGigabytes(t *testing.T) {
	t.Parallel()
	device := disktest.Loop(t, disktest.Image(t, 5<<30), false)
	for name, args := range map[string][]string{
		"device": {"--filename=" + device, "--rw=trim", "--bs=2g", "--size=4g"},
		"odd":    {"--filename=" + device, "--rw=trim", "--bs=2300m", "--size=4600m"},
		"null":   {"--ioengine=null", "--rw=randtrim", "--bs=4g", "--size=64g"},
	} {
		args := append([]string{"--name=j"}, args...)
		var leave []string
		if name != "null" {
			leave = []string{device}
		}
		ours, err := tryRun(t, t.TempDir(), leave, args...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if a, b := did(peer(t, t.TempDir(), args...)), did(ours); a != b {
			t.Errorf("%s: fio did\n%s\nours\n%s", name, a, b)
		}
	}
}

// Each block is trimmed and then written: the log of a job has it in that order, with sizes of trims for both.
func TestTrimsBeforeWrites(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"--rw=trimwrite --size=64k --bs=16k",
		"--rw=randtrimwrite --size=1m --bssplit=512/25:1k/:2k/:4k/ --norandommap",
		"--rw=trimwrite --size=60k --bs=16k --loops=2",
		"--rw=randtrimwrite --size=1m --bs=4k --io_size=64k",
	} {
		var said [2]string
		for i, do := range []func(*testing.T, string, ...string) string{peer, run} {
			dir := t.TempDir()
			do(t, dir, append([]string{"--name=a", "--ioengine=null", "--write_bw_log=l", "--log_offset=1", "--per_job_logs=0"}, strings.Fields(line)...)...)
			text, err := os.ReadFile(dir + "/l_bw.log")
			if err != nil {
				t.Fatal(err)
			}
			pairs, bytes, seen, trimmed := 0, 0, map[string]bool{}, ""
			for _, l := range strings.Split(strings.TrimSpace(string(text)), "\n") {
				f := strings.Split(l, ", ")
				place := f[4] + "+" + f[3]
				if f[2] == "2" {
					trimmed = place
					continue
				}
				if f[2] != "1" || place != trimmed {
					t.Fatalf("%s: %s behind a trim of %s", line, l, trimmed)
				}
				n, err := strconv.Atoi(f[3])
				if err != nil {
					t.Fatal(err)
				}
				pairs, bytes, seen[place] = pairs+1, bytes+n, true
			}
			said[i] = fmt.Sprintf("%d pairs of %d bytes, each once: %t", pairs, bytes, len(seen) == pairs)
			if strings.Contains(line, "bssplit") {
				said[i] = fmt.Sprint(bytes >= 1<<20-4096 && bytes < 1<<20+4096) // Sizes are drawn.
			}
		}
		if said[0] != said[1] {
			t.Errorf("%s: fio %s, ours %s", line, said[0], said[1])
		}
	}
}
