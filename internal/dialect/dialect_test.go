package dialect

import "testing"

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

func TestNearest(t *testing.T) {
	all := []string{"iodepth", "io_size", "ioengine", "bs", "runtime"}
	for in, want := range map[string]string{"iodept": "iodepth", "iodpeth": "iodepth", "io-size": "io_size", "runtme": "runtime", "colour": "", "ioengin": "ioengine"} {
		if got := Nearest(in, all); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", in, got, want)
		}
	}
}
