package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"plimsoll/load"
)

// result is a message of a good result, to be spoilt.
const result = `{"result":{"id":"1","elapsed":1000,"wall_elapsed":-5,"prepared":1,"proc_read":-1,"proc_written":-1,"cgroup":null,` +
	`"classes":[{"name":"append","ops":1,"bytes":64,"lat":{"n":1,"min":5,"max":5,"sum":5,"bins":[[5,1]]}}],"samples":[{"at":5,"ops":1,"bytes":64}]}}`

// TestHostile: a worker that says what can't be, or at the wrong time, is not believed, and no
// trial of it is waited for.
func TestHostile(t *testing.T) {
	t.Parallel()
	spoilt := func(old, with string) string {
		if !strings.Contains(result, old) {
			t.Fatalf("the result has no %s", old)
		}
		return strings.Replace(result, old, with, 1)
	}
	const ready = `{"ready":{"id":"1"}}`
	for _, row := range []struct {
		name, prepared, started, want string
	}{
		{"good", ready, result, ""},
		{"second result", ready, result + "\n" + result, ""},
		{"late words of another trial", `{"error":{"id":"0","phase":"run","text":"no such trial"}}` + "\n" + ready, `{"sample":{"id":"0"}}` + "\n" + result, ""},
		{"escape codes", ready, spoilt(`"append"`, `"\u001b[31mappend"`), ""},
		{"invalid UTF-8", ready, spoilt(`"append"`, "\"\xff\xfe\""), ""},
		{"hello again", `{"hello":{"version":6}}`, "", "hello again"},
		{"engines without a request", `{"probed":{"probes":[]}}`, "", "without a request"},
		{"plimsoll's probe", `{"probe":{}}`, "", "only plimsoll sends"},
		{"plimsoll's words", `{"stop":{"id":"1"}}`, "", "only plimsoll sends"},
		{"result before ready", result, "", "before the start"},
		{"sample before start", `{"sample":{"id":"1"}}`, "", "before the start"},
		{"settling before start", `{"settling":{"id":"1","left":5}}`, "", "before the start"},
		{"ready twice", ready, ready, "a second time"},
		{"not a message", ready, "Segmentation fault", "not a message"},
		{"negative time", ready, spoilt(`"elapsed":1000`, `"elapsed":-1`), "took -1ns"},
		{"no time", ready, spoilt(`"elapsed":1000`, `"elapsed":0`), "took 0s"},
		{"huge number", ready, spoilt(`"elapsed":1000`, `"elapsed":1e99`), "not a message"},
		{"negative operations", ready, spoilt(`"ops":1`, `"ops":-1`), "-1 operations"},
		{"negative bytes", ready, spoilt(`"bytes":64`, `"bytes":-64`), "-64 bytes"},
		{"no operations", ready, `{"result":{"id":"1","elapsed":1000}}`, "without operations"},
		{"too few latencies", ready, spoilt(`"ops":1`, `"ops":2`), "2 operations with the latencies of 1"},
		{"no latencies", ready, `{"result":{"id":"1","elapsed":1000,"classes":[{"name":"a","ops":3}]}}`, "without their latencies"},
		{"torn histogram", ready, spoilt(`[[5,1]]`, `[[5,-1]]`), "not a message"},
		{"negative sample", ready, spoilt(`"at":5`, `"at":-5`), "a sample of"},
		{"negative live sample", ready, `{"sample":{"id":"1","ops":-1}}`, "a sample of"},
		{"negative late", ready, spoilt(`"prepared":1`, `"prepared":1,"late":-1`), "-1 late"},
		{"rounds", ready, `{"round":{"id":"1","at":5,"ops":1}}` + "\n" + spoilt(`"prepared":1`, `"rounds":{"each":[{"at":5,"ops":1},{"at":9,"ops":0}],"from":1,"to":2}`), ""},
		{"round before start", `{"round":{"id":"1","at":5}}`, "", "before the start"},
		{"negative round", ready, `{"round":{"id":"1","at":-5}}`, "a sample of"},
		{"round of another trial", ready, `{"round":{"id":"0","at":-5}}` + "\n" + result, ""},
		{"rounds that aren't there", ready, spoilt(`"prepared":1`, `"rounds":{"each":[{"at":5,"ops":1}],"from":0,"to":2}`), "rounds 0 to 2 of 1"},
		{"rounds before the first", ready, spoilt(`"prepared":1`, `"rounds":{"each":[{"at":5,"ops":1}],"from":-1,"to":1}`), "rounds -1 to 1 of 1"},
		{"rounds out of order", ready, spoilt(`"prepared":1`, `"rounds":{"each":[{"at":5},{"at":5}],"from":0,"to":2}`), "ends at 5ns after one that ended at 5ns"},
		{"negative latency of a round", ready, spoilt(`"prepared":1`, `"rounds":{"each":[{"at":5,"lat":-1}],"from":0,"to":1}`), "a round that ends"},
		{"plimsoll's finish", ready, `{"finish":{"id":"1"}}`, "only plimsoll sends"},
		{"negative preparation", ready, spoilt(`"prepared":1`, `"prepared":-1`), "a time of -1ns"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			// The messages are in files, since a shell's echo would read their escapes.
			a, err := Open(t.Context(), session(t, hello+"read run; cat <<'END'\n"+row.prepared+"\nEND\nread start; cat <<'END'\n"+row.started+"\nEND\ncat >/dev/null"))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err = a.Prepare(ctx, "1", short)
			if err == nil {
				if err = a.Start("1"); err == nil {
					_, err = a.Wait(ctx, "1", func(s load.Sample) {
						if s.Ops < 0 {
							t.Errorf("sample %+v was passed on", s)
						}
					})
				}
			}
			if row.want == "" {
				if err != nil || !a.Fit() {
					t.Errorf("error %v, fit %v; want the result", err, a.Fit())
				}
				return
			}
			if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), row.want) || a.Fit() {
				t.Errorf("error %v, fit %v; want %q", err, a.Fit(), row.want)
			}
			if ctx.Err() != nil {
				t.Error("it was waited for")
			}
		})
	}
}

// TestEndlessLine: a line without end is given up at the longest that a message may have.
func TestEndlessLine(t *testing.T) {
	t.Parallel()
	a, err := Open(t.Context(), session(t, hello+"read run; exec cat /dev/zero"))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Prepare(t.Context(), "1", short); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("Prepare() = %v, want that the message is too long", err)
	}
}
