package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/limit/show"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/texttest"
)

// setBy is which program set each limit of a target, as a bare show reports it: by "write_bps=1MiB 7:0".
func (l limitLab) setBy(t *testing.T, target string, flags ...string) map[string]string {
	t.Helper()
	var shown struct{ Limited []show.Limited }
	text := l.do(t, exitDone, append([]string{"show", "--json"}, flags...)...)
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	by := map[string]string{}
	for _, x := range shown.Limited {
		if x.Target == target {
			key := string(x.Key) + "=" + x.Value
			if !x.Device.IsZero() {
				key += " " + x.Device.String()
			}
			by[key] = x.By
		}
	}
	return by
}

// TestLieSetBy: what limit set has set is its own, and what another program has set isn't: a value that it changed, the same value in a
// group that has the name by now, and what it sets after a clear.
func TestLieSetBy(t *testing.T) {
	l := newBadLab(t) // It sets write_bps and read_iops.
	number, name := disktest.Number(t, l.loop), "cgroup:/"+filepath.Base(string(l.group))
	put := func(file, value string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(string(l.group), "blkio.throttle."+file+"_device"), []byte(number+" "+value), 0); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, limits map[string]bool) {
		t.Helper()
		by := l.setBy(t, name)
		for x, ours := range limits {
			if got := by[x+" "+number]; strings.HasPrefix(got, "plimsoll limit set, ") != ours || got == "" {
				t.Errorf("%s: %s was set by %q", when, x, got)
			}
		}
	}
	put("read_bps", "4096")
	want("beside another's", map[string]bool{"write_bps=1MiB": true, "read_iops=77": true, "read_bps=4KiB": false})
	put("write_bps", "4096")
	want("a value was changed", map[string]bool{"write_bps=4KiB": false, "read_iops=77": true})
	l.do(t, exitDone, "clear", l.name, "--device", l.loop)
	put("read_iops", "77")
	want("another set the same after a clear", map[string]bool{"read_iops=77": false})
	l.do(t, exitDone, "set", l.name, "--device", l.loop, "--read-iops", "77")
	want("set again", map[string]bool{"read_iops=77": true})
	if err := os.Remove(string(l.group)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(string(l.group), 0o755); err != nil {
		t.Fatal(err)
	}
	put("read_iops", "77")
	want("another group has the name", map[string]bool{"read_iops=77": false})
}

// TestSetByForeignName: a group's name may have any bytes, which JSON does not carry. A limit that limit set had set in such a group was "not on
// record: another program", and its name was shown with its escape sequence left out.
func TestSetByForeignName(t *testing.T) {
	l := newBadLab(t)
	child := filepath.Join(string(l.group), "a\xff\033[1mb")
	if err := os.Mkdir(child, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(child) })
	l.do(t, exitDone, "set", "cgroup:"+child, "--device", l.loop, "--write-bps", "2MiB")
	for _, args := range [][]string{{"show"}, {"show", "cgroup:" + child}} {
		out := l.do(t, exitDone, args...)
		i := strings.Index(out, "write_bps=2MiB")
		if i < 0 {
			t.Fatalf("%q: %s", args, out)
		}
		line, _, _ := strings.Cut(out[strings.LastIndex(out[:i], "\n")+1:], "\n")
		if !strings.Contains(line, "a\\377\\033[1mb") && !strings.Contains(line, `a\xff\x1b[1mb`) {
			t.Errorf("%q: no name of the group: %s", args, line)
		}
		if len(args) == 1 {
			texttest.Has(t, line, []string{"  plimsoll limit set, "}, args)
		}
	}
}
