package fio

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/load"
)

// fioTakes reports whether the installed fio reads a line without an error.
func fioTakes(t *testing.T, dir string, args []string) bool {
	t.Helper()
	path, err := exec.LookPath("fio")
	if err != nil {
		t.Fatalf("%v: run scripts/setup test", err)
	}
	c := exec.Command(path, append([]string{"--parse-only"}, args...)...)
	c.Dir = dir
	return c.Run() == nil
}

// The first letters of an option stand for it if no other option begins with them, and some options have a short name, as in fio.
func TestBeginningsOfOptionsAreFios(t *testing.T) {
	t.Parallel()
	job := []string{"--name=a", "--size=64k"}
	for _, v := range []struct {
		args []string
		want bool
	}{
		{[]string{"--nrf=2"}, true},
		{[]string{"-o", "out"}, true},
		{[]string{"-F", "json"}, true},
		{[]string{"-r"}, true},
		{[]string{"--output-f=json"}, true},
		{[]string{"--ioeng", "psync"}, true},
		{[]string{"--ran=2"}, false},
		{[]string{"--time=3"}, false},
		{[]string{"--frobnicate"}, false},
	} {
		args := append(v.args, job...)
		if is := fioTakes(t, t.TempDir(), args); is != v.want {
			t.Errorf("fio takes %q: %v, want %v", args, is, v.want)
		}
		if _, err := Parse(args, Source{}); (err == nil) != v.want {
			t.Errorf("Parse(%q) = %v; fio takes it: %v", args, err, v.want)
		}
	}
	if _, err := Parse(append([]string{"--time=3"}, job...), Source{}); err == nil || !strings.Contains(err.Error(), "several begin with it: time_based, timeout") {
		t.Errorf("two options begin with time: %v", err)
	}
}

// Programs look for fio's version before they do anything.
func TestVersionIsLikeFios(t *testing.T) {
	for _, arg := range []string{"--version", "-v", "--vers"} {
		theirs, ours := peer(t, t.TempDir(), arg), run(t, t.TempDir(), arg)
		if strings.TrimSpace(theirs) == "" || !strings.HasPrefix(ours, strings.TrimSpace(theirs)) || strings.Count(ours, "\n") != 1 {
			t.Errorf("%s: fio prints %q, ours %q", arg, theirs, ours)
		}
	}
}

// Values that fio takes are taken for the same: the line of the job's head and the counts are fio's.
func TestValuesAreFios(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"two sizes with a dash":        {"--rw=write", "--bs=4k-64k", "--size=1m"},
		"a range in a split":           {"--rw=write", "--bssplit=16k-60k/100", "--size=1m"},
		"a split of less than 100":     {"--rw=write", "--bssplit=16k/40:16k/40", "--size=1m"},
		"time_based without a runtime": {"--rw=write", "--time_based", "--size=1m"},
		"threads":                      {"--rw=write", "--threads=1", "--size=1m"},
		"obsolete":                     {"--rw=write", "--verifysort=1", "--verifysort_nr=8", "--flow_watermark=1", "--size=64k"},
		"reaping by the user":          {"--rw=read", "--size=64k", "--ioengine=libaio", "--userspace_reap"},
	} {
		args = append([]string{"--name=j"}, args...)
		theirs, ours := peer(t, t.TempDir(), args...), run(t, t.TempDir(), args...)
		if a, b := did(theirs), did(ours); a != b {
			t.Errorf("%s: fio did\n%s\nours\n%s", name, a, b)
		}
	}
}

// did is the head of the only job of an output and its counts.
func did(text string) string {
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "j: (g=0)") {
			return l + strings.Join(issued(text), "\n")
		}
	}
	return text
}

// The share of random offsets of reads is another one than that of writes: how many I/Os follow one another is compared.
func TestPercentageRandomOfEachDirection(t *testing.T) {
	for _, v := range []struct {
		value        string
		reads, write int
	}{{"40,0", 40, 0}, {"0,60", 0, 60}, {"30,", 30, 100}, {"25", 25, 25}, {"10,20,30", 10, 20}} {
		test, err := Parse([]string{"--name=a", "--rw=randrw", "--size=1m", "--percentage_random=" + v.value}, Source{})
		if err != nil {
			t.Fatal(err)
		}
		l := test.stages[0][0].load
		writes := l.PercentageRandom
		if l.PercentageRandomWrites != nil {
			writes = l.PercentageRandomWrites
		}
		if *l.PercentageRandom != v.reads || *writes != v.write {
			t.Errorf("%s: reads %d, writes %d", v.value, *l.PercentageRandom, *writes)
		}
	}
	dir := t.TempDir()
	if !fioTakes(t, dir, []string{"--name=a", "--rw=randrw", "--size=1m", "--percentage_random=40,0"}) {
		t.Error("fio doesn't take two shares")
	}
}

// Keywords say something of the machine, and fio computes with them.
func TestKeywordsAreFios(t *testing.T) {
	machine := func(k string) int64 { return map[string]int64{"pagesize": 4096, "mb_memory": 100, "ncpus": 3}[k] }
	for value, want := range map[string]string{
		"$pagesize": "4096", "8*$mb_memory": "800", "$ncpus": "3", "2*$ncpus+4/2": "8", "10-$ncpus": "7", "4*1024": "4*1024", "$mb_memory/3": "33",
	} {
		p := parser{src: Source{Machine: machine}}
		if got, err := p.keyword(value); err != nil || got != want {
			t.Errorf("keyword(%q) = %q, %v, want %q", value, got, err, want)
		}
	}
	for _, value := range []string{"$ncpus/0", "$ncpus*x", "$ncpus*", "$mb_memory*9223372036854775807"} {
		p := parser{src: Source{Machine: machine}}
		if got, err := p.keyword(value); err == nil {
			t.Errorf("keyword(%q) = %q", value, got)
		}
	}
	if _, err := (&parser{}).keyword("$ncpus"); err == nil {
		t.Error("an unknown machine has processors")
	}
	// The same with fio, which has bc work out what isn't a number; Debian has no bc of itself.
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "k.fio"), []byte("[a]\nrw=write\nbs=$pagesize\nsize=64k\nnumjobs=$ncpus\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	theirs := issued(peer(t, dir, "k.fio"))
	src := fileSource(dir)
	src.Machine = func(k string) int64 {
		return map[string]int64{"pagesize": int64(os.Getpagesize()), "ncpus": int64(len(theirs))}[k]
	}
	test, err := Parse([]string{"k.fio"}, src)
	if err != nil {
		t.Fatal(err)
	}
	if got := test.stages[0][0].load; len(test.stages[0]) != len(theirs) || got.BS != int64(os.Getpagesize()) {
		t.Errorf("bs=%d in %d clones; fio has %v", got.BS, len(test.stages[0]), theirs)
	}
}

// Every kind of verification that fio has is taken, does as many I/Os as fio's, and finds a block that was changed.
func TestVerifyOfEveryKind(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"md5":         {"--verify=md5"},
		"crc32":       {"--verify=crc32"},
		"sha1":        {"--verify=sha1", "--verify_interval=512", "--verify_dump=1", "--verify_async=2", "--verify_backlog=4"},
		"meta":        {"--verify=meta", "--verify_pattern=0xaa555aa5"},
		"pattern":     {"--verify=pattern", `--verify_pattern="abcd"`},
		"pattern_hdr": {"--verify=md5", "--verify_pattern=0xff"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--name=j", "--rw=randwrite", "--bs=4k", "--size=64k", "--filename=f"}, args...)
			dir := t.TempDir()
			if a, b := did(peer(t, t.TempDir(), args...)), did(run(t, dir, args...)); a != b {
				t.Errorf("fio did\n%s\nours\n%s", a, b)
			}
			only := append(args, "--verify_only")
			if got := issued(run(t, dir, only...)); len(got) != 1 || got[0] != "16,0,0" {
				t.Errorf("verify_only did %v", got)
			}
			f, err := os.OpenFile(filepath.Join(dir, "f"), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			held := make([]byte, 4096)
			if _, err := f.ReadAt(held, 7*4096); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(held), "abcd"); name == "pattern" && n != 1024 {
				t.Errorf("a block holds the pattern %d times, want 1024: % x...", n, held[:64])
			}
			if n := strings.Count(string(held), "\xaa\x55\x5a\xa5"); name == "meta" && n < 1000 {
				t.Errorf("a block holds the pattern %d times, want at least 1000: % x...", n, held[:64])
			}
			if _, err := f.WriteAt([]byte("x"), 7*4096+1000); err != nil {
				t.Fatal(err)
			}
			var bad *load.VerifyError
			if _, err := tryRun(t, dir, nil, only...); !errors.As(err, &bad) || bad.Offset != 7*4096 {
				t.Errorf("a changed block: %v", err)
			}
		})
	}
}
