package keeper

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestUnsettled: a container that makes a group whenever one of its is written keeps its limits, which is no fault of the rule, and what
// it makes is held as it comes. The keeper writes no more than there are groups.
func TestUnsettled(t *testing.T) {
	needV1(t)
	const most = 60
	var mu sync.Mutex
	var dir string
	var made []string
	h := holderFor(t)
	h.Groups = h.Groups.Through(func(path, text string, next func(path, text string) error) error {
		err := next(path, text)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && len(made) < most && strings.HasPrefix(path, dir+"/") && !strings.HasSuffix(text, " 0") {
			below := filepath.Join(dir, fmt.Sprintf("made-%d", len(made)))
			if err := os.Mkdir(below, 0o755); err != nil {
				return err
			}
			made = append(made, below)
		}
		return err
	})
	b := newBench(t, Options{Holder: h}, oneRule)
	t.Cleanup(func() {
		b.stop()
		mu.Lock()
		defer mu.Unlock()
		for _, below := range made {
			if err := os.Remove(below); err != nil {
				t.Error(err)
			}
		}
	})
	mu.Lock()
	dir = string(b.group)
	mu.Unlock()
	b.k.Started(targetOf(b.group))
	b.has("1048576")
	eventually(t, "all that it has made are held", func() bool {
		mu.Lock()
		defer mu.Unlock()
		for _, below := range made {
			if rate(filepath.Join(base(b.group), filepath.Base(below)), b.number) != "1048576" {
				return false
			}
		}
		return len(made) == most
	})
	s := b.k.Status()
	if len(s.Containers) != 1 || len(s.Containers[0].Faults) > 0 {
		t.Errorf("the state: %+v, want one container without faults", s.Containers)
	}
	for _, words := range []string{"can't be kept", "another program changed"} {
		if b.said(words) {
			t.Errorf("reported: %s", words)
		}
	}
	b.has("1048576")
	if n := b.k.Check().Writes; n != 0 {
		t.Errorf("%d writes when it made no more", n)
	}
	if n := b.k.Status().Writes; n != most+1 {
		t.Errorf("%d writes of %d groups", n, most+1)
	}
}
