package keeper

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/disktest"
)

const memoryRule = "rules:\n- {name: memory, match: all, limits: {memory: 64MiB}}\n"

// TestSwapIsRestored: a rule on memory that goes leaves the swap beside it as it was, also of a keeper that has ended meanwhile. It left
// 0 beside a limit on memory, and no limit where there had been none.
func TestSwapIsRestored(t *testing.T) {
	for _, row := range []struct{ name, memory, swap string }{
		{"as Docker's -m", "536870912", "536870912"},
		{"no swap", "536870912", "0"},
		{"all the swap there is", "536870912", "max"},
		{"swap alone", "max", "536870912"},
		{"no swap alone", "max", "0"},
		{"nothing", "max", "max"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h, root := v2Holder(t, "/web")
			dir := filepath.Join(root, "cg/web")
			for file, text := range map[string]string{"memory.max": row.memory, "memory.swap.max": row.swap} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			held(t, h, target.Target{Kind: target.Cgroup, Name: "/web", Running: true}, dir, "memory.max", "memory.swap.max", []string{"67108864", "0"})
		})
	}
}

// TestRealSwapIsRestored is the same on version 1, whose file has memory and swap together.
func TestRealSwapIsRestored(t *testing.T) {
	const root = "/sys/fs/cgroup/memory"
	if _, err := os.Stat(filepath.Join(root, "memory.memsw.limit_in_bytes")); err != nil {
		t.Skip("needs the memory controller of version 1 with swap accounting")
	}
	for _, row := range []struct{ name, memory, both string }{{"as Docker's -m", "536870912", "1073741824"}, {"all the swap there is", "536870912", "-1"}, {"no swap", "536870912", "536870912"}, {"nothing", "-1", "-1"}} {
		t.Run(row.name, func(t *testing.T) {
			g := disktest.NewGroup(t, root)
			// What has both may not be the lower.
			for _, file := range []string{"memory.limit_in_bytes " + row.memory, "memory.memsw.limit_in_bytes " + row.both} {
				name, text, _ := strings.Cut(file, " ")
				if err := g.Put(name, text); err != nil {
					t.Fatal(err)
				}
			}
			held(t, holderFor(t), targetOf(g), string(g), "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", []string{"67108864", "67108864"})
		})
	}
}

// held has a keeper hold a group to 64 MiB, and another one, whose policy has no rule, restore what both files had.
func held(t *testing.T, h *hold.Holder, of target.Target, dir, limitFile, swapFile string, want []string) {
	t.Helper()
	has := func() [2]string {
		var out [2]string
		for i, file := range []string{limitFile, swapFile} {
			b, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			out[i] = strings.TrimSpace(string(b))
		}
		return out
	}
	before := has()
	r := start(t, Options{Holder: h, Check: hour}, memoryRule)
	r.k.Started(of)
	eventually(t, "memory is held", func() bool { now := has(); return now == [2]string(want) })
	r.stop()
	if now := has(); now != [2]string(want) {
		t.Errorf("without a keeper it has %q, want %q", now, want)
	}
	r.write("rules: []\n")
	r.begin()
	r.k.Started(of)
	eventually(t, "the rule has gone", func() bool { return r.said("no rule limits it any more") })
	if now := has(); now != before {
		t.Errorf("afterwards %s and %s have %q, and before %q", limitFile, swapFile, now, before)
	}
}
