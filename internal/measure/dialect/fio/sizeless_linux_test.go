package fio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAFileThatIsThereNeedsNoSize: a job of a file that is there, without a size, does as many I/Os as
// fio's. Those of random offsets without a map were refused: log_avg_msec=0 made too many lines, which nobody had asked for.
func TestAFileThatIsThereNeedsNoSize(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"with a map":        "--rw=randread",
		"norandommap":       "--rw=randread --norandommap",
		"writes":            "--rw=randwrite --norandommap",
		"loops":             "--rw=randread --norandommap --loops=2",
		"size in percent":   "--rw=randread --norandommap --size=100%",
		"half of it":        "--rw=randread --norandommap --size=50%",
		"offset in percent": "--rw=randread --norandommap --offset=25%",
		"increments":        "--rw=read --size=25% --offset_increment=25% --numjobs=3",
		"increments behind": "--rw=randread --norandommap --offset=10% --size=20% --offset_increment=16% --numjobs=4",
		"bytes and percent": "--rw=randread --offset=8k --size=64k --offset_increment=20% --numjobs=3",
		"io_size":           "--rw=randread --norandommap --io_size=50%",
		"zipf":              "--rw=randread --random_distribution=zipf:1.2",
		"zoned":             "--rw=randread --random_distribution=zoned:60/10:30/20:10/70",
		"a rate":            "--rw=randread --norandommap --rate_iops=1000",
		"two clones":        "--rw=randread --norandommap --numjobs=2",
		"steady state":      "--rw=randread --norandommap --steadystate=iops:10% --ss_dur=5",
		"a log":             "--rw=randread --norandommap --write_bw_log=x --log_avg_msec=100",
		"in a file":         "job.fio",
		"verify":            "--rw=randwrite --verify=crc32c",
		"verify a half":     "--rw=write --verify=crc32c --size=50%",
		"verify the rest":   "--rw=randwrite --verify=crc32c --offset=25%",
		"verify a quarter":  "--rw=write --verify=crc32c --offset=25% --size=25%",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(line)
			if args[0] != "job.fio" {
				args = append([]string{"--name=x", "--filename=f", "--bs=4k"}, args...)
			}
			dirs := []string{t.TempDir(), t.TempDir()}
			for _, dir := range dirs {
				text := "[x]\nfilename=f\nbs=4k\nrw=randread\nnorandommap\n"
				if err := os.WriteFile(filepath.Join(dir, "job.fio"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 256<<10), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, err := tryRun(t, dirs[1], []string{"f"}, args...)
			if err != nil {
				t.Fatal(err)
			}
			sameIO(t, peer(t, dirs[0], args...), out)
		})
	}
}

// TestSizesOfAFileThatIsThere: of blocks that differ in size the bytes are as many as the file's, to one block.
func TestSizesOfAFileThatIsThere(t *testing.T) {
	for _, sizes := range []string{"--bssplit=4k/50:16k/50", "--bsrange=4k-16k"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 256<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, more := range []string{"", "--steadystate=iops:10% --ss_dur=5"} {
			args := append([]string{"--name=x", "--filename=f", "--rw=randread", sizes, "--output-format=json", "--output=r.json"}, strings.Fields(more)...)
			run(t, dir, args...)
			var r goResult
			readJSON(t, filepath.Join(dir, "r.json"), &r)
			if n := r.Jobs[0].Read.Bytes; n < 256<<10 || n >= (256+16)<<10 {
				t.Errorf("%s %s read %d bytes of 262144", sizes, more, n)
			}
		}
	}
}

// TestVerifiedRegionsOfAFileThatIsThere: what isn't known before the file is there may overlap anything; and a pass that was not done is no
// verified one.
func TestVerifiedRegionsOfAFileThatIsThere(t *testing.T) {
	for _, line := range []string{
		"--verify=crc32c --rw=write --filename=f --name=a --name=b --offset=64k --size=64k",
		"--verify=crc32c --rw=write --filename=f --name=b --offset=64k --size=64k --name=a",
		"--verify=crc32c --rw=write --filename=f --name=a --offset=50% --name=b --size=50%",
	} {
		if _, err := Parse(strings.Fields(line), Source{}); err == nil || !strings.Contains(err.Error(), "write the same part of f at once") {
			t.Errorf("%s: %v", line, err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 256<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := tryRun(t, dir, []string{"f"}, strings.Fields("--name=x --filename=f --rw=write --verify=crc32c --number_ios=10")...)
	if got := strings.Join(issued(out), " "); err != nil || got != "10,10,0" {
		t.Errorf("ten I/Os of 64: %v, %s", err, got)
	}
}

// TestOffsetInPercentOfANewFile: a file that is made is long enough for all of size behind the offset; ours ended it with the file, a quarter
// too early.
func TestOffsetInPercentOfANewFile(t *testing.T) {
	t.Parallel()
	for _, offset := range []string{"25%", "50%", "99%", "1%"} {
		for _, rw := range []string{"read", "randwrite"} {
			args := []string{"--name=x", "--filename=f", "--bs=4k", "--size=256k", "--offset=" + offset, "--rw=" + rw}
			theirs := issued(peer(t, t.TempDir(), args...))
			dir := t.TempDir()
			for range 2 { // The second finds the file.
				if ours := issued(run(t, dir, args...)); strings.Join(theirs, " ") != strings.Join(ours, " ") || len(ours) == 0 {
					t.Errorf("%s from %s on: fio did %v, ours %v", rw, offset, theirs, ours)
				}
			}
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 256<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tryRun(t, dir, nil, strings.Fields("--name=x --filename=f --size=256k --offset=25% --rw=read")...); err == nil || !strings.Contains(err.Error(), "f has 262144 bytes, but the job needs 354987") {
		t.Errorf("of a file that is too short: %v", err)
	}
}
