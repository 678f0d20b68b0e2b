package safety

import (
	"bytes"
	"fmt"
	"time"

	"plimsoll/internal/measure/step"
)

// freshWithin is what counts as at once: less than a person notices. freshWait is how long an edit is awaited: a client of
// NFS looks after three seconds (nfs(5), acregmin).
const (
	freshWithin = 100 * time.Millisecond
	freshWait   = 4 * time.Second
)

// An edit is how one edit by the other was seen, by what was looked at.
type edit map[string]seenEdit

type seenEdit struct {
	after time.Duration
	err   string
}

// aspects are what is looked at after an edit.
var aspects = []string{"content", "held", "size", "mtime"}

// fresh asks when an edit by the other is seen. The edit is made once and looked at in all its aspects.
func fresh(aspect string) func(*checker, pair) (Answer, string, error) {
	return func(c *checker, p pair) (Answer, string, error) {
		if c.edits == nil {
			c.edits = map[Between][]edit{}
		}
		if c.edits[p.between] == nil {
			e, err := c.edit(p)
			if err != nil {
				return "", "", err
			}
			c.edits[p.between] = e
		}
		var worst seenEdit
		for _, e := range c.edits[p.between] {
			if s := e[aspect]; s.err != "" || s.after > worst.after && worst.err == "" {
				worst = s
			}
		}
		switch {
		case worst.err != "":
			return No, worst.err, nil
		case worst.after > freshWithin:
			return No, "it is seen after " + short(worst.after), nil
		}
		return Yes, "after " + short(worst.after), nil
	}
}

// An editing is an edit under way: a file that the reader has in its caches, and that the writer changes.
type editing struct {
	reader, writer side
	path           string
	offset         time.Duration
}

// edit lets each process of a pair edit a file that the other has read, both at once, and notes when the other sees it. Two
// processes on one side see the same.
func (c *checker) edit(p pair) ([]edit, error) {
	ways := []editing{{reader: p.a, writer: p.b}}
	if p.between != Processes {
		ways = append(ways, editing{reader: p.b, writer: p.a})
	}
	before, after := bytes.Repeat([]byte{'a'}, 100), bytes.Repeat([]byte{'b'}, 100)
	longer := append(bytes.Clone(after), after...)
	const begin = 50 * time.Millisecond // All readers look by then.
	var moves []move
	for i := range ways {
		w := &ways[i]
		dir, err := c.folder()
		if err != nil {
			return nil, err
		}
		w.path = dir + "/file"
		if err := c.must(w.writer, step.Call{Op: step.Write, Path: w.path, Data: before}); err != nil {
			return nil, err
		}
		if w.offset, err = c.offset(w.reader, w.writer); err != nil {
			return nil, err
		}
		moves = append(moves, move{side: w.writer, Call: step.Call{Op: step.Write, Path: w.path, Data: longer, Delay: begin}})
		for k, how := range aspects {
			s := side{w.reader.agent, 10 + k} // Each looks at one aspect, with everything in its caches.
			calls := []step.Call{{Op: step.Open, Path: w.path, File: 1, How: "r"}, {Op: step.Read, File: 1, Length: 100}, {Op: step.Stat, Path: w.path}}
			if err := c.must(s, calls...); err != nil {
				return nil, err
			}
			moves = append(moves, move{side: s, Call: step.Call{Op: step.Await, Path: w.path, File: 1, How: how, Data: after, Wait: freshWait}})
		}
	}
	a, err := c.together(moves...)
	if err != nil {
		return nil, err
	}
	var edits []edit
	for i, w := range ways {
		wrote := a[i*(1+len(aspects))]
		if !wrote.OK() {
			return nil, &failedStep{moves[i*(1+len(aspects))].Call, wrote}
		}
		e := edit{}
		for k, how := range aspects {
			got := a[i*(1+len(aspects))+1+k]
			s := seenEdit{after: max(0, got.At-wrote.At-w.offset)}
			if got.Errno == "ETIMEDOUT" {
				s.err = fmt.Sprintf("it is not seen within %v", freshWait)
			} else if !got.OK() {
				s.err = reason(&got)
			}
			e[how] = s
		}
		edits = append(edits, e)
	}
	return edits, nil
}
