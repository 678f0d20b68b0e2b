package iocost

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/text/usage"
)

// TestFiles: what the flags say becomes lines of the two files of version 2's root, or nothing is written.
func TestFiles(t *testing.T) {
	root := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cg := filepath.Join(root, "cg")
	put("proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:30 / "+cg+" rw - cgroup2 cgroup2 rw\n")
	put("cg/cgroup.controllers", "io\n")
	put("cg/io.cost.qos", "")
	put("cg/io.cost.model", "")
	put("sys/dev/block/8:0/dev", "8:0\n")
	h, err := cgroup.Open(device.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")})
	if err != nil {
		t.Fatal(err)
	}
	has := func(when, qos, model string) {
		t.Helper()
		for file, want := range map[string]string{"io.cost.qos": qos, "io.cost.model": model} {
			if b, err := os.ReadFile(filepath.Join(cg, file)); err != nil || strings.TrimSpace(string(b)) != want {
				t.Errorf("%s: %s is %q, want %q", when, file, b, want)
			}
		}
	}
	disk := device.Number{Major: 8}
	want, err := Parse([]string{"rpct=95", "rlat=5ms", "max=150%"}, strings.Split("rbps=500MB,rseqiops=80000,rrandiops=60000,wbps=400MB,wseqiops=70000,wrandiops=50000", ","))
	if err != nil {
		t.Fatal(err)
	}
	if edits, err := want.Apply(h, disk, true); err != nil || len(edits) != 2 {
		t.Errorf("--dry-run: %v, %v", edits, err)
	}
	has("--dry-run", "", "")
	edits, err := want.Apply(h, disk, false)
	if err != nil || len(edits) != 2 || edits[1].Was[0] != "8:0 enable=0" {
		t.Fatalf("Apply() = %v, %v", edits, err)
	}
	r := Result{Device: "sda", Number: device.Number{Major: 8}, Edits: edits}
	golden.Check(t, "set.txt", r.Text(), golden.Text(root, "ROOT"))
	const qos, model = "8:0 enable=1 rpct=95.00 rlat=5000 max=150.00", "8:0 rbps=500000000 rseqiops=80000 rrandiops=60000 wbps=400000000 wseqiops=70000 wrandiops=50000"
	has("set", qos, model)
	if edits, err := want.Apply(h, disk, false); err != nil || len(edits) != 0 {
		t.Errorf("again: %v, %v", edits, err)
	}
	// The second is wrong, so the first is not written.
	half, err := Parse([]string{"rpct=101"}, []string{"rbps=1", "wbps=1", "rseqiops=1", "rrandiops=1", "wseqiops=1", "wrandiops=1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := half.Apply(h, disk, false); err == nil || !strings.Contains(err.Error(), "101 is not a percentile") {
		t.Errorf("Apply() = %v", err)
	}
	has("refused", qos, model)
}

// TestParseBad: what can't be read is refused with what to write.
func TestParseBad(t *testing.T) {
	var sheet golden.Sheet
	for _, row := range [][2][]string{
		{}, {{"speed=5"}}, {{"rpct=5", "rpct=6"}}, {{"rlat=5"}}, {nil, {"rseqiops=many"}}, {nil, {"500MB"}},
	} {
		_, err := Parse(row[0], row[1])
		if !usage.Is(err) {
			t.Errorf("Parse(%q) = %v, want an error of the user's", row, err)
		}
		sheet.Add(row, err)
	}
	sheet.Check(t, "bad.txt")
}
