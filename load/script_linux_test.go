package load

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"
)

// A script does its steps in their order, at their times, and no more; each engine does.
func TestScriptDoesItsSteps(t *testing.T) {
	steps := Script{
		{Op: Write, Offset: 8192, Size: 4096}, {Op: Write, File: 1, Offset: 0, Size: 512}, {Op: StepSync},
		{Op: Read, Offset: 8192, Size: 8192, At: 30 * time.Millisecond}, {Op: StepDataSync, After: 40 * time.Millisecond}, {Op: Write, Offset: 4096, Size: 1024},
	}
	text, err := json.Marshal(steps)
	if err != nil {
		t.Fatal(err)
	}
	var script Script
	if err := json.Unmarshal(text, &script); err != nil || !slices.Equal(script, steps) {
		t.Fatalf("%v: %v became %v in JSON", err, steps, script)
	}
	for _, engine := range []string{PSync, LinuxAIO, IOUring} {
		a, b := zeros(t, t.TempDir(), 64<<10), zeros(t, t.TempDir(), 64<<10)
		j := Job{RW: RW, BS: 8192, Size: 16384, Files: []string{a, b}, IOEngine: engine, Script: script, Data: DataPattern, Pattern: []byte("w"), Trace: 10}
		if engine != PSync {
			j.IODepth = 8
		}
		res := start(t, j)
		for class, want := range map[string][2]int64{"read": {1, 8192}, "write": {3, 4096 + 512 + 1024}, "sync": {2, 0}} {
			if c := res.Class(class); c == nil || c.Ops != want[0] || c.Bytes != want[1] {
				t.Errorf("%s: %s: %+v, want %v", engine, class, c, want)
			}
		}
		if res.Elapsed < 70*time.Millisecond {
			t.Errorf("%s: took %v, want the script's 70 ms", engine, res.Elapsed)
		}
		for path, want := range map[string][][2]int{a: {{4096, 5120}, {8192, 12288}}, b: {{0, 512}}} {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var got [][2]int
			for i := 0; i < len(data); i++ {
				from := i
				for i < len(data) && data[i] == 'w' {
					i++
				}
				if i > from {
					got = append(got, [2]int{from, i})
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: written at %v, want %v", engine, got, want)
			}
		}
		j.Runtime = 20 * time.Millisecond
		if c := start(t, j).Class("read"); c.Ops != 0 {
			t.Errorf("%s: a runtime of 20 ms did the read of 30 ms: %+v", engine, c)
		}
	}
}

func TestScriptsThatAreNone(t *testing.T) {
	for _, text := range []string{`1`, `"!"`, `"gA=="`, `"AAA="`} {
		var s Script
		if err := json.Unmarshal([]byte(text), &s); err == nil {
			t.Errorf("%s became %v", text, s)
		}
	}
	for name, change := range map[string]func(*Job){
		"beyond the region": func(j *Job) { j.Script[0].Offset = 8192 },
		"more than a block": func(j *Job) { j.Script[0].Size = 8192 },
		"another file":      func(j *Job) { j.Script[0].File = 1 },
		"a trim":            func(j *Job) { j.Script[0].Op = Trim },
		"a write of a read": func(j *Job) { j.Script[0].Op = Write },
		"back in time":      func(j *Job) { j.Script[0].After = -1 },
		"random":            func(j *Job) { j.RW = RandRead },
		"with a rate":       func(j *Job) { j.RateIOPS = 5 },
		"in two threads":    func(j *Job) { j.IODepth = 2 },
		"verified":          func(j *Job) { j.Verify = true },
		"too long":          func(j *Job) { j.Script = make(Script, MaxScript+1) },
	} {
		j := Job{RW: Read, BS: 4096, Size: 8192, Filename: "f", IOEngine: PSync, Script: Script{{Op: Read, Size: 4096}}}
		if err := j.Validate(); err != nil {
			t.Fatal(err)
		}
		if change(&j); j.Validate() == nil {
			t.Errorf("%s is taken: %+v", name, j)
		}
	}
}
