package fio

import (
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/testkit/disktest"
)

// errorWords are where in fio's sources an error was found, and what it is called: fio's asynchronous engines don't say either.
var errorWords = regexp.MustCompile(`(err=..) \([^)]*\)`)

// A job that goes on after errors counts them as fio does, in each output, and ends as well as one without.
func TestContinueOnErrorIsFios(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"named":        {"--rw=write", "--continue_on_error=write", "--ignore_error=,ENOSPC"},
		"by number":    {"--rw=write", "--ignore_error=,28:5"},
		"asynchronous": {"--rw=write", "--ioengine=libaio", "--iodepth=4", "--ignore_error=,ENOSPC"},
		"no error":     {"--rw=read", "--size=64k", "--continue_on_error=all"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--name=a", "--filename=f", "--bs=16k", "--size=512k", "--fallocate=none"}, args...)
			in := func(do func(*testing.T, string, ...string) string, more ...string) string {
				// The file is made, empty, by a job that fills what there is room for: it is not laid out here either.
				return do(t, disktest.Tmpfs(t, "size=256k"), append(append([]string{}, args...), append([]string{"--fill_device=1"}, more...)...)...)
			}
			fios, own := in(peer), in(run)
			if a, b := counted(fios), counted(own); a != b || !strings.Contains(a, "errors") {
				t.Errorf("fio:\n%s\nours:\n%s", a, b)
			}
			sameKeys(t, in(peer, "--output-format=json"), in(run, "--output-format=json"))
			// Each disk that did anything has nine fields.
			a, b := in(peer, "--minimal"), in(run, "--minimal")
			if a, b := strings.Split(a, ";"), strings.Split(b, ";"); (len(a)-len(b))%9 != 0 || a[4] != b[4] || strings.Join(a[len(a)-2:], ";") != strings.Join(b[len(b)-2:], ";") {
				t.Errorf("fio: %q\nours: %q", a, b)
			}
		})
	}
}

// counted are the lines of an output that say what was done and what failed.
func counted(text string) string {
	var out []string
	for l := range strings.Lines(text) {
		switch {
		case strings.Contains(l, ": (groupid="):
			l, _, _ = strings.Cut(l, ": pid=")
			out = append(out, errorWords.ReplaceAllString(l, "$1"))
		case strings.Contains(l, "issued rwts"), strings.Contains(l, " errors "):
			out = append(out, strings.TrimSpace(l))
		}
	}
	if _, io, ok := strings.Cut(text, ", io="); ok {
		io, _, _ = strings.Cut(io, " ")
		out = append(out, io)
	}
	return strings.Join(out, "\n")
}

// The last of continue_on_error and ignore_error counts. refused.txt has what is no error, and after what a job can't go on.
func TestErrorsThatAreNone(t *testing.T) {
	test, err := Parse([]string{"--name=a", "--size=64k", "--rw=write", "--ignore_error=EIO,ENOSPC", "--continue_on_error=none"}, Source{})
	if err != nil || test.stages[0][0].load.WriteErrors != nil || test.stages[0][0].load.ReadErrors != nil {
		t.Errorf("continue_on_error=none behind ignore_error: %v, %v", test, err)
	}
}
