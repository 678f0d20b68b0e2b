package keeper

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/limit"
)

// TestMeanwhile: a record counts only where the kernel still has the keeper's value. A limit that another program has set
// since stays if no rule applies; if one does, it becomes the value to restore.
func TestMeanwhile(t *testing.T) {
	const none = "rules: []\n"
	for _, x := range []struct {
		name string
		// put is written while no keeper runs, "" for nothing.
		put, policy string
		// want is what the group has then; said what the log tells, was what was before, and anew whether its time begins anew.
		want, said, was string
		anew            bool
		// after is what it has when there is no rule any more.
		after string
	}{
		{"as it was", "", oneRule, "1048576", "", "777", false, "777"},
		{"as it was, and no rule", "", none, "777", "", "", false, "777"},
		{"set", "300", none, "300", "is 300, no longer the 1MiB of rule one: another program changed it, so the daemon leaves it; the value before the daemon, 777, is not restored", "", false, "300"},
		{"cleared", "0", none, "", "is none, no longer the 1MiB", "", false, ""},
		{"as before", "777", none, "777", "is 777, no longer the 1MiB", "", false, "777"},
		{"set, and held again", "300", oneRule, "1048576", "another program changed a limit; restored: ", "300", true, "300"},
		{"cleared, and held again", "0", oneRule, "1048576", "another program changed a limit; restored: ", "none", true, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			b := newBench(t, Options{}, oneRule)
			put := func(value string) {
				t.Helper()
				if err := b.group.Put("blkio.throttle.write_bps_device", b.number+" "+value); err != nil {
					t.Fatal(err)
				}
			}
			held := func() *Limit {
				t.Helper()
				var h *Limit
				eventually(t, "the container is known", func() bool {
					c := b.k.Status().Containers
					if len(c) == 1 && len(c[0].Held) == 1 {
						h = &c[0].Held[0]
					}
					return h != nil
				})
				return h
			}
			put("777")
			b.k.Started(targetOf(b.group))
			b.has("1048576")
			first := held().Since
			b.stop()
			if x.put != "" {
				put(x.put)
			}
			b.write(b.text(x.policy))
			b.begin()
			b.k.Started(targetOf(b.group))
			eventually(t, "the container is settled", func() bool {
				e := b.k.all()
				if len(e) != 1 {
					return false
				}
				e[0].mu.Lock()
				defer e[0].mu.Unlock()
				return !e[0].settled.IsZero()
			})
			b.has(x.want)
			if b.said("another program") != (x.said != "") || !b.said(x.said) {
				t.Errorf("the log doesn't say %q", x.said)
			}
			if x.was != "" {
				if h := held(); h.Was != x.was || !h.Since.Equal(first) != x.anew {
					t.Errorf("held since %v (first %v), before %q; want %q, anew %v", h.Since, first, h.Was, x.was, x.anew)
				}
			}
			b.write(none)
			b.k.Reload()
			b.has(x.after)
		})
	}
}

// TestMeanwhileKilled: a keeper that was killed before it wrote what it had noted has its value before that in the kernel.
func TestMeanwhileKilled(t *testing.T) {
	b := newBench(t, Options{}, oneRule)
	b.k.Started(targetOf(b.group))
	b.has("1048576")
	b.stop()
	e := b.k.all()[0]
	for _, h := range e.held {
		prior := h.limits
		h.limits, h.Value, h.prior = limit.Limits{WriteBPS: 2 << 20}, "2MiB", &prior
	}
	if err := b.k.store.save(e); err != nil {
		t.Fatal(err)
	}
	b.write("rules: []\n")
	b.begin()
	b.k.Started(targetOf(b.group))
	b.has("")
	if b.said("another program") {
		t.Error("its own value is said to be somebody's")
	}
}

// TestMeanwhileRounded: a value that the kernel rounds is the keeper's own all the same.
func TestMeanwhileRounded(t *testing.T) {
	b := newBench(t, Options{}, "rules:\n- {name: one, match: all, limits: {cpus: 0.3333333, memory: 64000001}}\n")
	for _, c := range []string{"cpu", "memory"} {
		dir := filepath.Join("/sys/fs/cgroup", c, base(b.group))
		if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(dir) })
	}
	has := func(cpus, memory string) {
		t.Helper()
		eventually(t, fmt.Sprint("the group has ", cpus, " ", memory), func() bool {
			return file(t, "cpu", base(b.group), "cpu.cfs_quota_us") == cpus && file(t, "memory", base(b.group), "memory.limit_in_bytes") == memory
		})
	}
	b.k.Started(targetOf(b.group))
	has("33333", fmt.Sprint(64000001/os.Getpagesize()*os.Getpagesize()))
	b.stop()
	b.write("rules: []\n")
	b.begin()
	b.k.Started(targetOf(b.group))
	has("-1", fmt.Sprint((1<<63-1)/os.Getpagesize()*os.Getpagesize()))
	if b.said("another program") {
		t.Error("its own value is said to be somebody's")
	}
}

// TestMeanwhileRoot: what was cleared in the root group while no keeper ran isn't set again until its containers are known.
func TestMeanwhileRoot(t *testing.T) {
	b := newBench(t, Options{Check: time.Hour}, "rules:\n- {name: one, match: all, where: {device: DISK, device_wide: true}, limits: {write_bps: 1MiB}}\n")
	t.Cleanup(func() {
		b.stop()
		rootPuts(t, b.number, 0)
	})
	b.k.Started(targetOf(b.group))
	eventually(t, "the root group is held", func() bool { return b.said("the root group: held to") })
	b.stop()
	rootPuts(t, b.number, 0)
	b.begin()
	eventually(t, "the engines were asked", func() bool { return b.k.listed.Load() })
	eventually(t, "it is told", func() bool { return b.said("the root group: write_bps on") })
	if got := rate("", b.number); got != "" {
		t.Errorf("the root group has %q again", got)
	}
}

// TestReleaseBeside: what another program sets beside the removal of the keeper's own limit stays.
func TestReleaseBeside(t *testing.T) {
	h := holderFor(t)
	var beside func()
	h.Groups = h.Groups.Through(func(path, text string, next func(string, string) error) error {
		err := next(path, text)
		if beside != nil && strings.HasSuffix(text, " 0") {
			beside()
		}
		return err
	})
	b := newBench(t, Options{Holder: h}, oneRule)
	beside = sync.OnceFunc(func() {
		if err := b.group.Put("blkio.throttle.write_bps_device", b.number+" 5000000"); err != nil {
			t.Error(err)
		}
	})
	b.k.Started(targetOf(b.group))
	b.has("1048576")
	b.load("rules: []\n")
	b.released()
	b.has("5000000")
}
