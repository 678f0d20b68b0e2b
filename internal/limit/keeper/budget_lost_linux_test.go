package keeper

import (
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
)

// TestLostBudgets: an unreadable record of a shared budget is a fault in the state and in the log, until a rule limits the
// group again. It was ignored, and a limit stayed unnoticed.
func TestLostBudgets(t *testing.T) {
	const rule = "rules:\n- {name: shop, match: {name: \"/shop/*\"}, together: true, limits: {memory: 100MiB}}\n"
	h, root := v2Holder(t, "/shop/web", "/shop/db")
	r := start(t, Options{Holder: h, Check: hour}, rule)
	limit := func() string {
		b, err := os.ReadFile(filepath.Join(root, "cg/shop/memory.max"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	begin := func() {
		for _, g := range []string{"/shop/web", "/shop/db"} {
			r.k.Started(target.Target{Kind: target.Cgroup, Name: g, Running: true})
		}
	}
	begin()
	eventually(t, "it is held", func() bool { return limit() == "104857600" })
	noted := notes(t, r.opt.Run, groupKind)
	if len(noted) != 1 {
		t.Fatalf("notes %q", noted)
	}
	for text, why := range map[string]string{
		"": "unexpected end", `{"group":`: "unexpected end", "null": "not an entry of that name", `{"kind":"group-limits","id":"ID"}`: "unexpected end", `{"kind":"group-limits","id":"ID","payload":{"held":[]}}`: "not a record of limits", "[]": "cannot unmarshal",
	} {
		r.stop()
		id, err := url.PathUnescape(strings.TrimSuffix(filepath.Base(noted[0]), ".json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(noted[0], []byte(strings.Replace(text, `"ID"`, strconv.Quote(id), 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		r.write("rules: []\n")
		r.begin()
		r.k.oldBudgets()
		s := r.k.Status()
		if len(s.TogetherFaults) != 1 || !strings.Contains(s.TogetherFaults[0].Text, noted[0]) || !strings.Contains(s.TogetherFaults[0].Text, why) {
			t.Errorf("%q: the state has %+v", text, s.TogetherFaults)
		}
		if !r.said("the record of a shared budget can't be read: " + noted[0]) {
			t.Errorf("%q: the log doesn't tell", text)
		}
		if now := limit(); now != "104857600" {
			t.Errorf("%q: memory.max is %s", text, now)
		}
		// A rule that wants it writes the note anew.
		r.write(rule)
		r.k.Reload()
		begin()
		eventually(t, "the fault goes", func() bool {
			s := r.k.Status()
			return len(s.TogetherFaults) == 0 && len(s.Together) == 1 && len(s.Together[0].Held) == 1 && len(s.Together[0].Faults) == 0
		})
	}
	// Who has looked removes the file.
	r.stop()
	if err := os.WriteFile(noted[0], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.write("rules: []\n")
	r.begin()
	if f := r.k.Status().TogetherFaults; len(f) != 1 {
		t.Errorf("the state has %+v", f)
	}
	if err := os.Remove(noted[0]); err != nil {
		t.Fatal(err)
	}
	if f := r.k.Status().TogetherFaults; len(f) != 0 {
		t.Errorf("the file is removed: %+v", f)
	}
}
