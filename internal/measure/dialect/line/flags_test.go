package line

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/golden"
)

// TestWindowsFlags: the published line's caps, beside a line of diskspd.
func TestWindowsFlags(t *testing.T) {
	f, rest, err := Split([]string{"--io-maxiops", "100", "-b8K", "--isolation=process", "--io-maxbandwidth", "5MiB", "--cpus=1.5", "--memory", "4GiB", "iotest.dat"})
	if err != nil {
		t.Fatal(err)
	}
	want := limit.Limits{Name: "memory=4GiB cpus=1.5 io_maxiops=100 io_maxbandwidth=5MiB", SystemIOPS: 100, SystemBPS: 5 << 20, CPUs: 1.5, Memory: 4 << 30}
	if f.Limits != want || f.Isolation != "process" || !slices.Equal(rest, []string{"-b8K", "iotest.dat"}) {
		t.Errorf("Split = %+v with %q, want %+v", f, rest, want)
	}
}

// TestDockersFlags: what Docker has is read as Docker reads it, which is said where Plimsoll's own sizes differ.
func TestDockersFlags(t *testing.T) {
	for _, row := range []struct {
		args  string
		want  limit.Limits
		notes []string
	}{
		{"--memory 4G", limit.Limits{Memory: 4 << 30}, []string{"--memory 4G is read as Docker reads it: 4GiB"}},
		{"--memory=512m", limit.Limits{Memory: 512 << 20}, []string{"--memory 512m is read as Docker reads it: 512MiB"}},
		{"--memory 64MB", limit.Limits{Memory: 64 << 20}, []string{"--memory 64MB is read as Docker reads it: 64MiB"}},
		{"--memory 64MiB", limit.Limits{Memory: 64 << 20}, nil},
		{"--memory 67108864", limit.Limits{Memory: 64 << 20}, nil},
		{"--io-maxbandwidth=5m", limit.Limits{SystemBPS: 5 << 20}, []string{"--io-maxbandwidth 5m is read as Docker reads it: 5MiB"}},
		{"--io-maxbandwidth 5MiB/s", limit.Limits{SystemBPS: 5 << 20}, nil},
		{"--write-bps 5MB", limit.Limits{WriteBPS: 5_000_000}, nil}, // Docker's is --device-write-bps.
	} {
		f, rest, err := Split(strings.Fields(row.args))
		f.Limits.Name = ""
		if err != nil || len(rest) > 0 {
			t.Errorf("%s: rest %q, %v", row.args, rest, err)
		}
		if f.Limits != row.want {
			t.Errorf("%s: %+v, want %+v", row.args, f.Limits, row.want)
		}
		if !slices.Equal(f.Notes, row.notes) {
			t.Errorf("%s: notes %q, want %q", row.args, f.Notes, row.notes)
		}
	}
	var refused golden.Sheet
	for _, bad := range []string{
		"--device-write-bps /dev/sda:1mb", "--device-read-iops=/dev/sda:100", "-v --volume=/srv:/data", "--rm", "--place bind --place tmpfs", "--memory 4G --memory=5G",
		"--memory 4Q", "--memory 4M", "--write-bps 5m", "--memory -4G",
	} {
		_, _, err := Split(strings.Fields(bad))
		if err == nil {
			t.Errorf("%s is taken", bad)
		}
		refused.Add(bad, err)
	}
	refused.Check(t, "refused.txt")
	if f, _, err := Split(strings.Fields("--place bind --place=bind --destructive a --destructive b")); err != nil || f.Place != "bind" || len(f.Destructive) != 2 {
		t.Errorf("twice the same: %+v, %v", f, err)
	}
}

// TestPastedLines: a line with a web page's dashes and quotes is read as it was meant, each tool's and Plimsoll's own flags.
func TestPastedLines(t *testing.T) {
	for line, want := range map[string]string{
		"diskspd –b8K –d30 –o4 –t8 –h –r –w25 –L –Z1G –c5G “iotest.dat”": "diskspd -b8K -d30 -o4 -t8 -h -r -w25 -L -Z1G -c5G iotest.dat",
		"diskspd –b8K x –engine oci —io-maxiops=100":                     "diskspd -b8K x --engine oci --io-maxiops=100",
		"fio –name=a –rw=read —engine oci –record":                       "fio --name=a --rw=read --engine oci --record",
		"orion –run simple –lun-size 1GiB –testname t —quiet":            "orion -run simple --lun-size 1GiB -testname t --quiet",
		"ab –n 10 –kc 2 http://h/":                                       "ab -n 10 -kc 2 http://h/",
		"dd if=“/dev/zero” of=f –place layer":                            "dd if=/dev/zero of=f --place layer",
		"limit set web –write-bps 10MiB":                                 "limit set web --write-bps 10MiB",
		"--state /s diskspd –b8K x":                                      "--state /s diskspd -b8K x",
	} {
		if got, changed := Plain(strings.Fields(line)); strings.Join(got, " ") != want || !changed {
			t.Errorf("%s is read as %q", line, got)
		}
	}
	for _, m := range regexp.MustCompile(`--[a-z-]+`).FindAllString(Help(Tool{})+Help(Tool{Web: true}), -1) {
		if !slices.Contains(ownFlags(), m) {
			t.Errorf("%s is not among Plimsoll's own flags", m)
		}
	}
}
