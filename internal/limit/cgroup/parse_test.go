package cgroup

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
)

// TestParseRefuses: a file that is not understood is an error and no absence of limits.
func TestParseRefuses(t *testing.T) {
	try := func(name, text string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s(%q): no error", name, text)
		}
	}
	for _, s := range []string{"254:0\n", "254:0 \n", "254:0 x\n", "254:0 -1\n", "254:0 1 2\n", "x 1\n", "254 1\n", "254:0 99999999999999999999\n"} {
		_, err := parseThrottle([]byte(s))
		try("parseThrottle", s, err)
	}
	for _, s := range []string{"x rbps=1\n", "254:0 rbps=\n", "254:0 rbps=x\n", "254:0 wiops=-1\n", "rbps=1\n"} {
		_, err := parseMax([]byte(s))
		try("parseMax", s, err)
	}
	for _, s := range []string{"x\n", "default x\n", "254:0 100 200\n", "254:0 -5\n", "x 100\n"} {
		_, err := parseWeights([]byte(s))
		try("parseWeights", s, err)
	}
	for _, s := range []string{"254:0\n", "254:0 5\n", "254:0 target=x\n", "x target=5\n"} {
		_, err := parseLatency([]byte(s))
		try("parseLatency", s, err)
	}
	for _, s := range []string{"", "max", "max 0", "x 100000", "100000 x", "-5 100000", "1 2 3"} {
		_, err := parseQuota(s)
		try("parseQuota", s, err)
	}
	for _, s := range []string{"", "x", "-1", "99999999999999999999"} {
		_, err := parseBytes([]byte(s))
		try("parseBytes", s, err)
	}
	if _, err := parseCost([]byte("x enable=1\n")); err == nil {
		t.Error("parseCost: no error")
	}
}

// TestParse reads what kernels print, hidden devices, unknown fields and all.
func TestParse(t *testing.T) {
	rates, err := parseThrottle([]byte("7:1 4294967294\n(unknown) 5\n254:0 18446744073709551614\n"))
	if diff := cmp.Diff(deviceValues{{device.Number{Major: 7, Minor: 1}, 4294967294}, {vda, 18446744073709551614}}, rates, cmp.AllowUnexported(deviceValue{})); diff != "" || err != nil {
		t.Error(diff, err)
	}
	limits, err := parseMax([]byte("254:0 rbps=max wbps=1048576 riops=7 wiops=max idle=5\n(unknown) rbps=1\n8:16 rbps=2\n"))
	if diff := cmp.Diff(maxima{{vda, [4]uint64{0, 1048576, 7, 0}}, {sdb, [4]uint64{2}}}, limits, cmp.AllowUnexported(maximum{})); diff != "" || err != nil {
		t.Error(diff, err)
	}
	targets, err := parseLatency([]byte("254:0 target=5000\n8:16 target=max\n(unknown) target=1\n"))
	if diff := cmp.Diff(deviceValues{{vda, 5000}}, targets, cmp.AllowUnexported(deviceValue{})); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for text, want := range map[string]weights{
		"100\n":         {normal: 100},
		"default 200\n": {normal: 200},
		"default 100\n254:0 5\n(unknown) 7\n8:16 1000\n": {normal: 100, devices: deviceValues{{vda, 5}, {sdb, 1000}}},
	} {
		w, err := parseWeights([]byte(text))
		if diff := cmp.Diff(want, w, cmp.AllowUnexported(weights{}, deviceValue{})); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	for text, want := range map[string]int64{"max\n": noLimit, "9223372036854771712\n": noLimit, "9223372036854710272\n": noLimit, "0\n": 0, "67108864\n": 64 << 20} {
		if n, err := parseBytes([]byte(text)); n != want || err != nil {
			t.Errorf("parseBytes(%q) = %d, %v", text, n, err)
		}
	}
}

func FuzzParseMax(f *testing.F) {
	f.Add("254:0 rbps=max wbps=1048576 riops=7 wiops=max\n")
	f.Add("(unknown) rbps=1\n8:16 rbps=2 idle=5\n")
	f.Fuzz(func(t *testing.T, text string) {
		limits, err := parseMax([]byte(text))
		if err != nil {
			return
		}
		// Printed as the kernel prints it, it is read as the same.
		out := ""
		for _, m := range limits {
			out += m.device.String()
			for i, r := range rateFiles {
				out += " " + r.field + "=" + orMax(m.fields[i])
			}
			out += "\n"
		}
		again, err := parseMax([]byte(out))
		if diff := cmp.Diff(limits, again, cmp.AllowUnexported(maximum{})); diff != "" || err != nil {
			t.Errorf("%q: %s %v", text, diff, err)
		}
	})
}

func FuzzParseThrottle(f *testing.F) {
	f.Add("254:0 1048576\n7:1 4294967294\n")
	f.Add("(unknown) 5\n254:0 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		rates, err := parseThrottle([]byte(text))
		if err != nil {
			return
		}
		for _, r := range rates {
			if line := r.device.String() + " " + strconv.FormatUint(r.value, 10); !strings.Contains(text, line) {
				t.Errorf("%q has no %q", text, line)
			}
		}
	})
}

func FuzzParseOthers(f *testing.F) {
	f.Add("default 100\n254:0 200\n")
	f.Add("254:0 target=5000\n")
	f.Add("254:0 enable=1 ctrl=auto rpct=95.00\n")
	f.Add("150000 100000\n")
	f.Add("9223372036854771712\n")
	f.Fuzz(func(t *testing.T, text string) {
		if w, err := parseWeights([]byte(text)); err == nil && w.normal < 0 {
			t.Errorf("weight of %q is %d", text, w.normal)
		}
		if q, err := parseQuota(text); err == nil {
			if again, err := parseQuota(q.text()); err != nil || again != q {
				t.Errorf("quota of %q is %+v, read back as %+v, %v", text, q, again, err)
			}
		}
		if n, err := parseBytes([]byte(text)); err == nil && n < 0 {
			t.Errorf("bytes of %q are %d", text, n)
		}
		_, _ = parseLatency([]byte(text))
		_, _ = parseCost([]byte(text))
	})
}
