package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/testkit/disktest"
)

const (
	costQoSFile   = "/sys/fs/cgroup/io.cost.qos"
	costModelFile = "/sys/fs/cgroup/io.cost.model"
)

// TestLimitCostFiles: what the flags say becomes lines of the two files of version 2's root, or nothing is written.
func TestLimitCostFiles(t *testing.T) {
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
	var want costWant
	if err := want.read([]string{"rpct=95", "rlat=5ms", "max=150%"}, strings.Split("rbps=500MB,rseqiops=80000,rrandiops=60000,wbps=400MB,wseqiops=70000,wrandiops=50000", ",")); err != nil {
		t.Fatal(err)
	}
	if edits, err := want.apply(h, disk, true); err != nil || len(edits) != 2 {
		t.Errorf("--dry-run: %v, %v", edits, err)
	}
	has("--dry-run", "", "")
	edits, err := want.apply(h, disk, false)
	if err != nil || len(edits) != 2 || edits[1].Was[0] != "8:0 enable=0" {
		t.Fatalf("apply() = %v, %v", edits, err)
	}
	costJSON(t, edits, root, `{"dry_run":false,"device":"sda","number":"8:0","edits":[`+
		`{"group":"/","file":"ROOT/cg/io.cost.model","keys":["io.cost.model"],"device":"8:0",`+
		`"text":["8:0 rbps=500000000 rseqiops=80000 rrandiops=60000 wbps=400000000 wseqiops=70000 wrandiops=50000"],"was":["8:0 ctrl=auto"]},`+
		`{"group":"/","file":"ROOT/cg/io.cost.qos","keys":["io.cost.qos"],"device":"8:0",`+
		`"text":["8:0 enable=1 rpct=95.00 rlat=5000 max=150.00"],"was":["8:0 enable=0"]}]}`)
	costJSON(t, nil, root, `{"dry_run":false,"device":"sda","number":"8:0","edits":[]}`)
	const qos, model = "8:0 enable=1 rpct=95.00 rlat=5000 max=150.00", "8:0 rbps=500000000 rseqiops=80000 rrandiops=60000 wbps=400000000 wseqiops=70000 wrandiops=50000"
	has("set", qos, model)
	if edits, err := want.apply(h, disk, false); err != nil || len(edits) != 0 {
		t.Errorf("again: %v, %v", edits, err)
	}
	// The second is wrong, so the first is not written.
	var half costWant
	if err := half.read([]string{"rpct=101"}, []string{"rbps=1", "wbps=1", "rseqiops=1", "rrandiops=1", "wseqiops=1", "wrandiops=1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := half.apply(h, disk, false); err == nil || !strings.Contains(err.Error(), "101 is no percentile") {
		t.Errorf("apply() = %v", err)
	}
	has("refused", qos, model)
}

// costJSON compares what --json prints of edits, with ROOT for the fixture's folder.
func costJSON(t *testing.T, edits []cgroup.Edit, root, want string) {
	t.Helper()
	var out, line bytes.Buffer
	if err := (&app{stdout: &out}).tellCost(costResult{Device: "sda", Number: "8:0", Edits: edits}, true); err != nil {
		t.Fatal(err)
	}
	if err := json.Compact(&line, out.Bytes()); err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(line.String(), root, "ROOT"); got != want {
		t.Errorf("--json: %s, want %s", got, want)
	}
}

// TestLimitCostRefuses: what can't be read is refused with what to write, and where iocost isn't, that is said.
func TestLimitCostRefuses(t *testing.T) {
	needRun(t)
	l := limitLab{target.Options{}, t.TempDir()}
	loop := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	for words, args := range map[string][]string{
		"nothing is asked for":               {},
		"write KEY=VALUE with one of enable": {"--qos", "speed=5"},
		"rpct is given twice":                {"--qos", "rpct=5,rpct=6"},
		"has no unit":                        {"--qos", "rlat=5"},
		"invalid syntax":                     {"--model", "rseqiops=many"},
		"one of rbps, rrandiops, rseqiops":   {"--model", "500MB"},
	} {
		l.says(t, exitUsage, []string{words}, append([]string{"cost", loop}, args...)...)
	}
	l.says(t, exitUsage, []string{"/dev/plimsoll-no-such is no block device"}, "cost", "/dev/plimsoll-no-such", "--qos", "enable=1")
	l.says(t, exitUsage, []string{"/dev/null is no block device"}, "cost", "/dev/null", "--qos", "enable=1")
	if _, err := os.Stat(costQoSFile); err == nil {
		return // iocost is here: TestLimitCostReal tries it.
	}
	l.says(t, exitCannot, []string{": io.cost.qos: iocost is version 2's, and blkio is mounted as version 1 here", "let bfq schedule the disk"}, "cost", loop, "--qos", "enable=1")
}

// TestLimitCostReal: the kernel takes what cost writes, and what it prints brings back what was there.
func TestLimitCostReal(t *testing.T) {
	if _, err := os.Stat(costQoSFile); err != nil {
		t.Skip("needs iocost, which version 2 of control groups has")
	}
	l := limitLab{target.Options{}, t.TempDir()}
	loop, _ := fastDisk(t)
	number := disktest.Number(t, loop)
	line := func(file string) string {
		t.Helper()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for s := range strings.Lines(string(b)) {
			if rest, ok := strings.CutPrefix(s, number+" "); ok {
				return strings.TrimSpace(rest)
			}
		}
		return ""
	}
	t.Cleanup(func() { _ = os.WriteFile(costQoSFile, []byte(number+" enable=0"), 0) })
	model := "rbps=500000000,rseqiops=80000,rrandiops=60000,wbps=400000000,wseqiops=70000,wrandiops=50000"
	l.says(t, exitDone, []string{"would write", "enable=1"}, "cost", loop, "--qos", "rpct=95,rlat=5ms", "--dry-run")
	if s := line(costQoSFile); strings.Contains(s, "enable=1") {
		t.Fatalf("--dry-run has written %q", s)
	}
	l.says(t, exitDone, []string{"for all its users", "to restore: echo"}, "cost", loop, "--qos", "rpct=95,rlat=5ms", "--model", model)
	if s := line(costQoSFile); !strings.Contains(s, "enable=1") || !strings.Contains(s, "rpct=95.00 rlat=5000") {
		t.Errorf("io.cost.qos has %q", s)
	}
	if s := line(costModelFile); !strings.Contains(s, "ctrl=user") || !strings.Contains(s, strings.ReplaceAll(model, ",", " ")) {
		t.Errorf("io.cost.model has %q", s)
	}
	l.says(t, exitDone, []string{`"edits": []`}, "cost", loop, "--model", model, "--json")
	l.says(t, exitDone, []string{"unchanged"}, "cost", loop, "--qos", "rpct=95,rlat=5ms", "--model", model)
	l.says(t, exitDone, []string{"enable=0"}, "cost", loop, "--qos", "enable=0")
	if s := line(costQoSFile); !strings.Contains(s, "enable=0") {
		t.Errorf("turned off, io.cost.qos has %q", s)
	}
}
