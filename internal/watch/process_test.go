package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wrote is a process with bytes written by calls and for storage.
func wrote(start uint64, parent int, bytes int64) Process {
	return Process{Start: start, Parent: parent, IO: IO{CallBytesWritten: bytes, Writes: bytes / 10, BytesWritten: bytes}}
}

// TestAppUse: the first sample is at tick 1000.
func TestAppUse(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, after map[int]Process
		bytes         int64
		ended         int
	}{
		{"it goes on", map[int]Process{1: wrote(10, 0, 500)}, map[int]Process{1: wrote(10, 0, 800)}, 300, 0},
		{"a new one", map[int]Process{1: wrote(10, 0, 500)}, map[int]Process{1: wrote(10, 0, 500), 2: wrote(1000, 1, 70)}, 70, 0},
		{"one moved in", map[int]Process{1: wrote(10, 0, 500)}, map[int]Process{1: wrote(10, 0, 500), 2: wrote(999, 1, 70)}, 0, 0},
		// 300 of 2's 350 were done before; its parent has 350 more and 20 of its own.
		{"a child ended", map[int]Process{1: wrote(10, 0, 500), 2: wrote(20, 1, 300)}, map[int]Process{1: wrote(10, 0, 870)}, 70, 0},
		{"a child began and ended", map[int]Process{1: wrote(10, 0, 500)}, map[int]Process{1: wrote(10, 0, 560)}, 60, 0},
		{"a child and its child ended", map[int]Process{1: wrote(10, 0, 500), 2: wrote(20, 1, 300), 3: wrote(30, 2, 100)}, map[int]Process{1: wrote(10, 0, 930)}, 30, 0},
		{"nobody waited", map[int]Process{1: wrote(10, 0, 500), 2: wrote(20, 1, 300)}, map[int]Process{1: wrote(10, 0, 510)}, 10, 1},
		{"the parent is outside", map[int]Process{1: wrote(10, 0, 500), 2: wrote(20, 77, 300)}, map[int]Process{1: wrote(10, 0, 900)}, 400, 1},
		{"all ended", map[int]Process{1: wrote(10, 0, 500), 2: wrote(20, 1, 300)}, map[int]Process{}, 0, 2},
		{"the number is another's", map[int]Process{1: wrote(10, 0, 500)}, map[int]Process{1: wrote(1001, 0, 40)}, 40, 1},
		{"a counter fell", map[int]Process{1: wrote(10, 0, 500)}, map[int]Process{1: wrote(10, 0, 100)}, 0, 0},
		{"parents in a circle", map[int]Process{1: wrote(10, 2, 500), 2: wrote(20, 1, 300)}, map[int]Process{}, 0, 2},
	} {
		got := appUse(tt.before, tt.after, 1000, 2)
		want := App{
			WriteCalls: flow(tt.bytes, tt.bytes/10, 2), StorageWritten: tt.bytes, Processes: len(tt.after), Ended: tt.ended,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestParseIO(t *testing.T) {
	const text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\nlater: x\n"
	got, err := parseIO(text)
	if want := (IO{1, 2, 3, 4, 5, 6, 7}); err != nil || got != want {
		t.Errorf("parseIO() = %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "rchar: 1\n", "rchar: many\n" + text} {
		if got, err := parseIO(bad); err == nil {
			t.Errorf("parseIO(%q) = %+v, want an error", bad, got)
		}
	}
}
