package safety

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/step"
)

// exclusive lets two processes create the same files at the same time, with O_EXCL. Each file must have one creator.
func (c *checker) exclusive(p pair) (Answer, string, error) {
	dir, err := c.folder()
	if err != nil {
		return "", "", err
	}
	const count = 200
	race := step.Call{Op: step.Race, Path: dir, Count: count}
	a, err := c.together(move{side: p.a, Call: race}, move{side: p.b, Call: race})
	if err != nil {
		return "", "", err
	}
	for i := range a {
		if !a[i].OK() {
			return No, a[i].Error, nil
		}
	}
	if won := a[0].N + a[1].N; won != count {
		return No, fmt.Sprintf("%d files were created %d times", count, won), nil
	}
	return Yes, "", nil
}

// appended lets two processes append records to one file at the same time.
func (c *checker) appended(p pair) (Answer, string, error) {
	dir, err := c.folder()
	if err != nil {
		return "", "", err
	}
	const count, size = 300, 64
	path := dir + "/log"
	// Both have the file: who creates it is another question.
	if err := c.must(p.a, step.Call{Op: step.Write, Path: path}); err != nil {
		return "", "", err
	}
	write := func(with byte) step.Call {
		return step.Call{Op: step.Append, Path: path, Count: count, Data: bytes.Repeat([]byte{with}, size)}
	}
	a, err := c.together(move{side: p.a, Call: write('a')}, move{side: p.b, Call: write('b')})
	if err != nil {
		return "", "", err
	}
	for i := range a {
		if !a[i].OK() {
			return No, a[i].Error, nil
		}
	}
	got, err := c.do(p.a, step.Call{Op: step.Read, Path: path, Length: 2 * count * size})
	if err != nil {
		return "", "", err
	}
	if whole := wholeRecords(got.Data, size); whole != 2*count {
		return No, fmt.Sprintf("%d of %d records are left whole", whole, 2*count), nil
	}
	return Yes, fmt.Sprintf("%d records", 2*count), nil
}

// wholeRecords counts the different records of step.Append in data.
func wholeRecords(data []byte, size int) int {
	seen := map[string]bool{}
	for ; len(data) >= size; data = data[size:] {
		if with := data[4]; (with == 'a' || with == 'b') && bytes.Count(data[4:size], []byte{with}) == size-4 {
			seen[fmt.Sprint(with, binary.LittleEndian.Uint32(data))] = true
		}
	}
	return len(seen)
}

// renameOpen lets one process replace a file that the other has open, as editors and databases do.
func (c *checker) renameOpen(p pair) (Answer, string, error) {
	dir, err := c.folder()
	if err != nil {
		return "", "", err
	}
	path, fresh := dir+"/file", dir+"/new"
	if err := c.must(p.a, step.Call{Op: step.Write, Path: path, Data: []byte("old")}, step.Call{Op: step.Open, Path: path, File: 1, How: "rw"}); err != nil {
		return "", "", err
	}
	if err := c.must(p.b, step.Call{Op: step.Write, Path: fresh, Data: []byte("new")}); err != nil {
		return "", "", err
	}
	a, err := c.do(p.b, step.Call{Op: step.Rename, Path: fresh, To: path})
	if err != nil {
		return "", "", err
	}
	if !a.OK() {
		return No, "the rename fails: " + reason(a), nil
	}
	held, err := c.do(p.a, step.Call{Op: step.Read, File: 1, Length: 3})
	if err != nil {
		return "", "", err
	}
	now, err := c.do(p.a, step.Call{Op: step.Read, Path: path, Length: 3})
	if err != nil {
		return "", "", err
	}
	if err := c.must(p.a, step.Call{Op: step.Close, File: 1}); err != nil {
		return "", "", err
	}
	switch {
	case !held.OK():
		return No, "the replaced file can't be read any more: " + reason(held), nil
	case string(held.Data) != "old":
		return No, fmt.Sprintf("who has the replaced file open reads %q instead of its content", held.Data), nil
	case string(now.Data) != "new":
		return No, "who opens the file afterwards gets the old one", nil
	}
	return c.noLitter(p.a, dir, "file")
}

// unlinkOpen lets one process remove a file that the other has open.
func (c *checker) unlinkOpen(p pair) (Answer, string, error) {
	dir, err := c.folder()
	if err != nil {
		return "", "", err
	}
	path := dir + "/file"
	if err := c.must(p.a, step.Call{Op: step.Write, Path: path, Data: []byte("old")}, step.Call{Op: step.Open, Path: path, File: 1, How: "rw"}); err != nil {
		return "", "", err
	}
	a, err := c.do(p.b, step.Call{Op: step.Remove, Path: path})
	if err != nil {
		return "", "", err
	}
	if !a.OK() {
		return No, "the removal fails: " + reason(a), nil
	}
	// Reading needs more than what is cached: the file is written first.
	wrote, err := c.do(p.a, step.Call{Op: step.Write, File: 1, Data: []byte("more")})
	if err != nil {
		return "", "", err
	}
	held, err := c.do(p.a, step.Call{Op: step.Read, File: 1, Length: 4})
	if err != nil {
		return "", "", err
	}
	answer, detail, err := c.noLitter(p.a, dir)
	if err != nil {
		return "", "", err
	}
	// Closing may report what could not be written.
	end, err := c.do(p.a, step.Call{Op: step.Close, File: 1})
	if err != nil {
		return "", "", err
	}
	for _, a := range []*step.Answer{wrote, held, end} {
		if !a.OK() {
			return No, "the removed file can't be used any more: " + reason(a), nil
		}
	}
	if string(held.Data) != "more" {
		return No, "the removed file has lost its content", nil
	}
	return answer, detail, nil
}

// noLitter is no if a folder has other names than these, such as .nfs or .fuse_hidden files.
func (c *checker) noLitter(s side, dir string, names ...string) (Answer, string, error) {
	a, err := c.do(s, step.Call{Op: step.Names, Path: dir})
	if err != nil {
		return "", "", err
	}
	for _, name := range a.Names {
		if !slices.Contains(names, name) {
			return No, "it leaves a file " + name + " while the old one is open", nil
		}
	}
	return Yes, "", nil
}

// listing lets one process list a folder while the other creates and removes files in it.
func (c *checker) listing(p pair) (Answer, string, error) {
	dir, err := c.folder()
	if err != nil {
		return "", "", err
	}
	const stable, wait = 200, 250 * time.Millisecond
	if err := c.must(p.a, step.Call{Op: step.Act, Path: dir, How: "create", Count: stable}); err != nil {
		return "", "", err
	}
	a, err := c.together(move{side: p.a, Call: step.Call{Op: step.List, Path: dir, Count: stable, Wait: wait}}, move{side: p.b, Call: step.Call{Op: step.Churn, Path: dir, Wait: wait}})
	if err != nil {
		return "", "", err
	}
	for i := range a {
		if !a[i].OK() {
			return No, a[i].Error, nil
		}
	}
	if n := a[0].Errors["missing"] + a[0].Errors["twice"]; n > 0 {
		return No, fmt.Sprintf("in %d listings, names were missing %d times and there twice %d times", a[0].N, a[0].Errors["missing"], a[0].Errors["twice"]), nil
	}
	return Yes, fmt.Sprintf("%d listings, %d files created beside", a[0].N, a[1].N), nil
}

// eventsLate is the latency from which an event counts as late: a person waits for the reload.
const eventsLate = time.Second

// events lets one process watch a folder while the other creates, modifies, moves and deletes files in it, and then the other
// way round if they are on different sides.
func (c *checker) events(p pair) (Answer, string, error) {
	answer, detail, err := c.eventsOf(p.a, p.b)
	if err != nil || p.between != Sides && p.between != Machines {
		return answer, detail, err
	}
	back, other, err := c.eventsOf(p.b, p.a)
	if err != nil {
		return "", "", err
	}
	inside := "container"
	if p.between == Machines {
		inside = "virtual machine"
	}
	detail = fmt.Sprintf("watched in the %s: %s; on the host: %s", inside, detail, other)
	if back == No {
		answer = No
	}
	return answer, detail, nil
}

// eventsOf counts what a watcher sees of an actor's changes, 1,000 in a place that is not slow.
func (c *checker) eventsOf(watcher, actor side) (Answer, string, error) {
	dir, err := c.folder()
	if err != nil {
		return "", "", err
	}
	away, err := c.folder()
	if err != nil {
		return "", "", err
	}
	offset, err := c.offset(watcher, actor)
	if err != nil {
		return "", "", err
	}
	each, err := c.eventsEach(actor, dir+"/pace")
	if err != nil {
		return "", "", err
	}
	if err := c.must(watcher, step.Call{Op: step.Watch, Path: dir}); err != nil {
		return "", "", err
	}
	var seen, lost []string
	var late []time.Duration
	for _, kind := range []struct{ how, what string }{{"create", "create"}, {"modify", "modify"}, {"move", "moved_from"}, {"delete", "delete"}} {
		if kind.how == "delete" { // Those that were moved away are moved back, unseen.
			if err := c.must(actor, step.Call{Op: step.Act, How: "move", Path: away, To: dir, Count: each}); err != nil {
				return "", "", err
			}
			if _, err := c.do(watcher, step.Call{Op: step.Events, Count: each, Wait: eventsGrace}); err != nil {
				return "", "", err
			}
		}
		a, err := c.do(actor, step.Call{Op: step.Act, How: kind.how, Path: dir, To: away, Data: []byte("x"), Count: each, Wait: time.Millisecond})
		if err != nil {
			return "", "", err
		}
		if !a.OK() {
			return No, a.Error, nil
		}
		arrived, n, err := c.await(watcher, kind.what, each)
		if err != nil {
			return "", "", err
		}
		for i, at := range a.Times {
			if got, ok := arrived[step.Name(i)]; ok {
				late = append(late, max(0, got-at-offset))
			}
		}
		if n == 0 && kind.how == "create" {
			return No, "no event arrives", nil
		}
		text := fmt.Sprintf("%s %d", kind.how, n)
		if seen = append(seen, text); n < each {
			lost = append(lost, text)
		}
	}
	slices.Sort(late)
	times := fmt.Sprintf("half within %s, all within %s", short(late[len(late)/2]), short(late[len(late)-1]))
	if len(lost) > 0 {
		return No, fmt.Sprintf("of %d changes each, these arrive: %s (%s)", each, strings.Join(seen, ", "), times), nil
	}
	if late[len(late)-1] > eventsLate {
		return No, "events come late: " + times, nil
	}
	return Yes, fmt.Sprintf("all %d changes, %s", 4*each, times), nil
}

// eventsEach is how often each kind of change is made: 250 times, or fewer where that would take longer than half a second.
func (c *checker) eventsEach(actor side, pace string) (int, error) {
	const most, least, pilot = 250, 25, 20
	if err := c.must(actor, step.Call{Op: step.Mkdir, Path: pace}); err != nil {
		return 0, err
	}
	a, err := c.do(actor, step.Call{Op: step.Act, How: "create", Path: pace, Count: pilot})
	if err != nil || !a.OK() || len(a.Times) == 0 {
		return most, err
	}
	took := max(a.At-a.Times[0], time.Microsecond)
	return min(most, max(least, int(500*time.Millisecond*pilot/took))), nil
}

// eventsGrace is how long missing events are awaited.
const eventsGrace = 500 * time.Millisecond

// await collects the events of a kind, until there are count or none comes for a while.
func (c *checker) await(watcher side, what string, count int) (at map[string]time.Duration, n int, err error) {
	at = map[string]time.Duration{}
	for len(at) < count {
		a, err := c.do(watcher, step.Call{Op: step.Events, Count: 1, Wait: eventsGrace})
		if err != nil {
			return nil, 0, err
		}
		if len(a.Events) == 0 {
			break
		}
		for _, e := range a.Events {
			if _, twice := at[e.Name]; e.What == what && !twice {
				at[e.Name] = e.At
			}
		}
	}
	return at, len(at), nil
}

// offset is what the clock of a shows when that of b shows 0, by the quickest of some questions.
func (c *checker) offset(a, b side) (time.Duration, error) {
	best, offset := time.Hour, time.Duration(0)
	for range 5 {
		one, err := c.do(b, step.Call{Op: step.Clock})
		if err != nil {
			return 0, err
		}
		mid, err := c.do(a, step.Call{Op: step.Clock})
		if err != nil {
			return 0, err
		}
		two, err := c.do(b, step.Call{Op: step.Clock})
		if err != nil {
			return 0, err
		}
		if d := two.At - one.At; d < best {
			best, offset = d, mid.At-(one.At+two.At)/2
		}
	}
	if offset.Abs() < best {
		offset = 0 // The two clocks agree within the time of a question.
	}
	return offset, nil
}

// short is a duration with two or three digits.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", max(1, d.Microseconds()))
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
