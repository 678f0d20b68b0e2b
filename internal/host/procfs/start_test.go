package procfs

import (
	"errors"
	"io/fs"
	"testing"

	"plimsoll/internal/testkit/treetest"
)

func TestStart(t *testing.T) {
	const tail = " 1 1 1 0 -1 4194560 100 0 0 0 1 1 0 0 20 0 1 0 4711 1000 10\n"
	root := treetest.Make(t, map[string]string{
		"1/stat": "1 (a) b) S" + tail,
		"2/stat": "2 (ended) Z" + tail,
		"3/stat": "3 (ended) X" + tail,
		"4/stat": "4 (cut off) S 1 1\n",
		"5/stat": "5 (no number) S 1 1 1 0 -1 4194560 100 0 0 0 1 1 0 0 20 0 1 0 soon 1000 10\n",
		"6/stat": "",
		"8/stat": "8 (ending) R 1 1 1 0 -1 4194564 100 0 0 0 1 1 0 0 20 0 1 0 4711 1000 10\n",
		"9/stat": "9 (no flags) R 1 1 1 0 -1 - 100 0 0 0 1 1 0 0 20 0 1 0 4711 1000 10\n",
	})
	for _, x := range []struct {
		pid   int
		ended bool
		ticks uint64
	}{{2, true, 0}, {3, true, 0}, {4, false, 0}, {5, false, 0}, {6, false, 0}, {7, true, 0}, {8, false, 4711}, {9, false, 0}, {1, false, 4711}} {
		ticks, err := Start(root, x.pid)
		if ticks != x.ticks || (err == nil) != (x.ticks != 0) || errors.Is(err, fs.ErrNotExist) != x.ended {
			t.Errorf("Start(%d) = %d, %v, want %d, ended %v", x.pid, ticks, err, x.ticks, x.ended)
		}
	}
	for pid, ended := range map[int]bool{1: false, 2: true, 7: true, 8: true} {
		if _, err := Running(root, pid); errors.Is(err, fs.ErrNotExist) != ended {
			t.Errorf("Running(%d): %v, want ended %v", pid, err, ended)
		}
	}
}

func TestParseStat(t *testing.T) {
	s, err := ParseStat("42 (a) b) S 7 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0\n")
	if s != (Stat{State: "S", Parent: 7, Start: 4711}) || err != nil {
		t.Errorf("ParseStat() = %+v, %v", s, err)
	}
	for _, bad := range []string{"", "42 (a) S", "42 (a) S x 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0"} {
		if _, err := ParseStat(bad); err == nil {
			t.Errorf("ParseStat(%q): no error", bad)
		}
	}
}
