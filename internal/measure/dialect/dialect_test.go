package dialect

import (
	"os"
	"path/filepath"
	"testing"
)

func TestInPlace(t *testing.T) {
	for in, want := range map[string]string{
		"/data/x.dat": "data_x.dat", `C:\iotest.dat`: "iotest.dat", "x": "x", "../../etc/passwd": "etc_passwd",
		"/a//b/../c": "a_c", `D:\dir\f`: "dir_f",
	} {
		if got := InPlace(in); got != want {
			t.Errorf("InPlace(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestNamesKeepFilesApart: two files of the line are two in the place, whatever it is asked for again.
func TestNamesKeepFilesApart(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var n Names
	for range 2 {
		for _, c := range []struct{ name, want string }{
			{"d/x", "d_x"}, {"d_x", "d_x-2"}, {"./d//x", "d_x"}, {"/d/x", "d_x-3"}, {"d_x-2", "d_x-2-2"}, {`C:\f`, "f"}, {`D:\f`, "f-2"}, {"g", "g"},
			{filepath.Join(here, "g"), "g"},
		} {
			if got := n.InPlace(c.name); got != c.want {
				t.Errorf("InPlace(%q) = %q, want %q", c.name, got, c.want)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	all := []string{"iodepth", "io_size", "ioengine", "bs", "runtime"}
	for in, want := range map[string]string{"iodept": "iodepth", "iodpeth": "iodepth", "io-size": "io_size", "runtme": "runtime", "colour": "", "ioengin": "ioengine"} {
		if got := Nearest(in, all); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", in, got, want)
		}
	}
}
