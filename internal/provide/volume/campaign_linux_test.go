package volume

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/testkit/killtest"
	"plimsoll/internal/testkit/leaktest"
)

// operationFile has the operation of a process of the campaign: a verb, a volume, and a number.
const operationFile = "operation"

// operation is what the life of that name does.
func operation(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, operationFile))
	if err != nil {
		return err
	}
	var verb, name string
	var n int
	if _, err := fmt.Sscan(string(b), &verb, &name, &n); err != nil {
		return err
	}
	ctx, s := context.Background(), New(dir)
	unmounted := func(then func() error) error { return errors.Join(s.released(ctx, name), then()) }
	switch verb {
	case "create":
		backend, p, err := s.Options(small)
		if err != nil {
			return err
		}
		_, _, err = s.Create(ctx, name, backend, p)
		if _, exists := errors.AsType[*ExistsError](err); exists {
			return nil // It has grown.
		}
		return err
	case "write", "hold":
		m, err := s.Mount(ctx, name, "x")
		if err != nil {
			return err
		}
		if err := put(m.Root, strconv.Itoa(n), strings.Repeat(strconv.Itoa(n), 1000)); err != nil || verb == "hold" {
			return err
		}
		return s.Unmount(ctx, name, "x")
	case "remove":
		return unmounted(func() error { return s.Remove(ctx, name, false) })
	case "restore":
		_, err := s.Restore(ctx, name)
		return err
	case "update":
		return unmounted(func() error {
			v, err := s.Get(name)
			if err == nil {
				_, err = s.Update(ctx, name, map[string]string{"capacity": fmt.Sprint(v.Profile.Capacity+mib, "B")})
			}
			return err
		})
	}
	return fmt.Errorf("no operation %q", verb)
}

// released ends all uses of a volume: what was killed may have left some.
func (s *Volumes) released(ctx context.Context, name string) error {
	for {
		users, err := s.Users(name)
		if err != nil || len(users) == 0 {
			return err
		}
		if err := s.Unmount(ctx, name, users[0].ID); err != nil {
			return err
		}
	}
}

// A modelled volume is what was acknowledged of the volumes of one name: the files of the one that exists, nil if there is none, and those of the
// removed ones, the latest last.
type modelled struct {
	live  []int
	trash [][]int
}

// next are the operations that must succeed.
func (m modelled) next() []string {
	switch {
	case m.live != nil:
		return []string{"create", "write", "write", "hold", "update", "remove"}
	case len(m.trash) > 0:
		return []string{"restore", "restore", "create"}
	}
	return []string{"create"}
}

// after is the model after an operation.
func (m modelled) after(verb string, n int) modelled {
	switch verb {
	case "create":
		if m.live == nil {
			m.live = []int{}
		}
	case "write", "hold":
		m.live = append(m.live[:len(m.live):len(m.live)], n)
	case "remove":
		m.trash, m.live = append(m.trash[:len(m.trash):len(m.trash)], m.live), nil
	case "restore":
		m.live, m.trash = m.trash[len(m.trash)-1], m.trash[:len(m.trash)-1]
	}
	return m
}

// TestOperations: a process is killed at any moment of random operations. No volume is lost, none is half there, and no byte that was acknowledged. With
// PLIMSOLL_CAMPAIGN=1 it makes a thousand.
func TestOperations(t *testing.T) {
	s := lab(t)
	count := 20
	if os.Getenv("PLIMSOLL_CAMPAIGN") != "" {
		count = 1000
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("the seed is %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	models := map[string]modelled{}
	killed, longest := 0, 100*time.Millisecond
	for n := range count {
		name := []string{"a", "b", "c"}[random.IntN(3)]
		before := models[name]
		verbs := before.next()
		verb := verbs[random.IntN(len(verbs))]
		must(t, os.WriteFile(filepath.Join(s.state, operationFile), fmt.Appendln(nil, verb, name, n), 0o600))
		c := killtest.Command("operation", s.state)
		began := time.Now()
		out := &strings.Builder{}
		c.Stdout = out
		must(t, c.Start())
		kill := time.AfterFunc(time.Duration(random.Int64N(int64(longest)*3/2)), func() { c.Process.Kill() })
		err := c.Wait()
		kill.Stop()
		if out.Len() > 0 {
			t.Fatalf("%d: %s %s: %s", n, verb, name, out)
		}
		if err == nil {
			models[name] = before.after(verb, n)
			longest = min(time.Second, (longest*7+time.Since(began))/8)
			continue
		}
		killed++
		models[name] = s.found(t, fmt.Sprintf("%d: %s %s", n, verb, name), name, before, before.after(verb, n))
		if t.Failed() {
			return
		}
	}
	t.Logf("%d of %d operations were killed", killed, count)
	for name, m := range models {
		s.emptied(t, name, m)
	}
	if left := s.files(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// found returns the one of two models that is so, after what a killed process began was ended.
func (s *Volumes) found(t *testing.T, what, name string, before, after modelled) modelled {
	t.Helper()
	if _, err := s.Finish(t.Context()); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	_, err := s.Get(name)
	live := err == nil
	list, err := s.Trash()
	must(t, err)
	trash := 0
	for _, r := range list {
		if r.Name == name {
			trash++
		}
	}
	for _, m := range []modelled{before, after} {
		if (m.live != nil) != live || len(m.trash) != trash {
			continue
		}
		s.has(t, what, name, m)
		return m
	}
	t.Errorf("%s: killed, it leaves a volume: %v, and %d removed ones; before: %v", what, live, trash, before)
	return before
}

// has checks the files of a volume.
func (s *Volumes) has(t *testing.T, what, name string, m modelled) {
	t.Helper()
	if m.live == nil {
		return
	}
	at, err := s.Mount(t.Context(), name, "check")
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	for _, n := range m.live {
		if got := content(at.Root, strconv.Itoa(n)); got != strings.Repeat(strconv.Itoa(n), 1000) {
			t.Errorf("%s: the file %d is %.60q", what, n, got)
		}
	}
	if err := s.Unmount(t.Context(), name, "check"); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// emptied removes all volumes of a name, and checks each before.
func (s *Volumes) emptied(t *testing.T, name string, m modelled) {
	t.Helper()
	for {
		s.has(t, "at the end", name, m)
		if m.live != nil {
			must(t, s.released(t.Context(), name))
			must(t, s.Remove(t.Context(), name, true))
		}
		if len(m.trash) == 0 {
			break
		}
		_, err := s.Restore(t.Context(), name)
		must(t, err)
		m.live = nil
		m = m.after("restore", 0)
	}
	if left := leaktest.Find(filepath.Join(s.state, "volumes", name)); len(left) > 0 {
		t.Errorf("left mounted: %q", left)
	}
}
