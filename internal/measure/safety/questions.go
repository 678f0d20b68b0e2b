package safety

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/measure/step"
)

// A question is one promise of a file system.
type question struct {
	key string
	// title is the promise in words.
	title string
	// pairs asks each pair of processes; one asks one process. One of the two is set.
	pairs func(*checker, pair) (Answer, string, error)
	one   func(*checker) (Answer, string, error)
}

// slowQuestions take a tenth of a second or more, but for process-ids: its answer depends on the engine alone, and a run's report
// would repeat it for each place.
var slowQuestions = []string{"process-ids", "listing", "events", "fresh-content", "fresh-held", "fresh-size", "fresh-mtime", "fdatasync-10ms", "mtime-ns", "opens"}

// questions are all of them, in the order of a report.
var questions = []question{
	{"shared-memory", "mapped memory is shared", (*checker).sharedMemory, nil},
	{"map-write", "a map shows what is written to the file", (*checker).mapWrite, nil},
	{"lock-posix", "POSIX locks exclude", locks("posix"), nil},
	{"lock-upgrade", "a shared POSIX lock becomes exclusive", nil, (*checker).lockUpgrade},
	{"lock-ofd", "OFD locks exclude", locks("ofd"), nil},
	{"lock-flock", "flock excludes", locks("flock"), nil},
	{"create-exclusive", "of two creators of a file, one wins", (*checker).exclusive, nil},
	{"process-ids", "no two processes have the same id", (*checker).processIDs, nil},
	{"append", "appends of two writers are kept whole", (*checker).appended, nil},
	{"rename-open", "a rename replaces a file that is open", (*checker).renameOpen, nil},
	{"unlink-open", "a removed file stays for those who have it open", (*checker).unlinkOpen, nil},
	{"listing", "a listing is complete while others create files", (*checker).listing, nil},
	{"events", "inotify reports changes by the other", (*checker).events, nil},
	{"fresh-content", "an edit by the other is read at once", fresh("content"), nil},
	{"fresh-held", "also from a file that is open", fresh("held"), nil},
	{"fresh-size", "its size is seen at once", fresh("size"), nil},
	{"fresh-mtime", "its modification time is seen at once", fresh("mtime"), nil},
	{"fsync", "fsync reaches the disk", nil, (*checker).fsync},
	{"fdatasync-10ms", "99 of 100 fdatasync take 10 ms at most", nil, (*checker).fdatasync},
	{"direct", "O_DIRECT bypasses the page cache", nil, (*checker).direct},
	{"chown", "chown", nil, (*checker).chown},
	{"chmod", "chmod, with setuid and sticky bits", nil, (*checker).chmod},
	{"xattr", "extended attributes (user.)", nil, (*checker).xattr},
	{"acl", "POSIX ACLs", nil, (*checker).acl},
	{"hard-link", "hard links", nil, (*checker).hardLink},
	{"symlink", "symbolic links", nil, (*checker).symlink},
	{"sparse", "sparse files", nil, (*checker).sparse},
	{"reflink", "copies that share blocks (reflink)", nil, (*checker).reflink},
	{"fallocate", "fallocate", nil, (*checker).fallocate},
	{"case", "upper and lower case differ", nil, (*checker).letterCase},
	{"unicode", "names keep their Unicode form", nil, (*checker).unicode},
	{"long-names", "names of 255 bytes", nil, (*checker).longNames},
	{"mtime-ns", "modification times tell edits apart (10 ms)", nil, (*checker).ticks},
	{"opens", "10,000 parallel opens", nil, (*checker).opens},
	{"io-uring", "io_uring is allowed", nil, (*checker).uring},
}

// Title is a question's promise in words.
func Title(key string) string {
	for _, q := range questions {
		if q.key == key {
			return q.title
		}
	}
	return key
}

// ask asks all questions. A step that the place refuses is an answer; a worker that is lost is an error.
func (c *checker) ask(quick bool) error {
	for _, q := range questions {
		if quick && slices.Contains(slowQuestions, q.key) {
			continue
		}
		if q.one != nil {
			if err := c.note(q.key, "", func() (Answer, string, error) { return q.one(c) }); err != nil {
				return err
			}
			continue
		}
		for _, p := range c.pairs {
			if err := c.note(q.key, p.between, func() (Answer, string, error) { return q.pairs(c, p) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// note notes the answer to one question.
func (c *checker) note(key string, between Between, ask func() (Answer, string, error)) error {
	answer, detail, err := ask()
	var failed *failedStep
	if errors.As(err, &failed) {
		answer, detail, err = No, failed.Error(), nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", Title(key), err)
	}
	c.Findings = append(c.Findings, Finding{key, answer, between, detail})
	return nil
}

// mapped makes a file that both have open as File 1, and maps it on some sides. refused says why it can't be mapped.
func (c *checker) mapped(p pair, size int64, sides ...side) (refused string, err error) {
	dir, err := c.folder()
	if err != nil {
		return "", err
	}
	path := dir + "/map"
	if err := c.must(p.a, step.Call{Op: step.Open, Path: path, File: 1, How: "create"}, step.Call{Op: step.Truncate, File: 1, Length: size}); err != nil {
		return "", err
	}
	if err := c.must(p.b, step.Call{Op: step.Open, Path: path, File: 1, How: "rw"}); err != nil {
		return "", err
	}
	for _, s := range sides {
		a, err := c.do(s, step.Call{Op: step.Map, File: 1, Length: size})
		if err != nil {
			return "", err
		}
		if !a.OK() {
			return "the file can't be mapped: " + a.Error, nil
		}
	}
	// B has the page before the first write: a system that fetches it only then would pass.
	return "", c.must(p.b, step.Call{Op: step.Load, File: 1, Length: 1})
}

// turn writes a byte on one side and looks at the other's map. seen is whether it is there; refused says why it can't be read.
func (c *checker) turn(how step.Op, writer, reader side, value byte) (seen bool, refused string, err error) {
	if err := c.must(writer, step.Call{Op: how, File: 1, Data: []byte{value}}); err != nil {
		return false, "", err
	}
	a, err := c.do(reader, step.Call{Op: step.Load, File: 1, Length: 1})
	if err != nil || !a.OK() {
		return false, a.Error, err
	}
	return a.Data[0] == value, "", nil
}

// turns lets sides write in turn, and says how often that was not seen. back is whether B writes every second time.
func (c *checker) turns(p pair, how step.Op, n int, back bool) (lost int, refused string, err error) {
	for i := range n {
		writer, reader := p.a, p.b
		if back && i%2 == 1 {
			writer, reader = p.b, p.a
		}
		seen, refused, err := c.turn(how, writer, reader, byte(i+1))
		if err != nil || refused != "" {
			return 0, refused, err
		}
		if !seen {
			lost++
		}
	}
	return lost, "", errors.Join(c.must(p.a, step.Call{Op: step.Close, File: 1}), c.must(p.b, step.Call{Op: step.Close, File: 1}))
}

// sharedMemory lets two processes map a file and write to it in turn, as the -shm file of SQLite's WAL mode is used.
func (c *checker) sharedMemory(p pair) (Answer, string, error) {
	const size, turns = 32 << 10, 40 // SQLite's size.
	refused, err := c.mapped(p, size, p.a, p.b)
	if err != nil || refused != "" {
		return No, refused, err
	}
	lost, refused, err := c.turns(p, step.Store, turns, true)
	switch {
	case err != nil || refused != "":
		return No, refused, err
	case lost > 0:
		return No, fmt.Sprintf("%d of %d writes to the mapped file were not seen by the other", lost, turns), nil
	}
	return Yes, fmt.Sprintf("%d writes in turn were seen", turns), nil
}

// mapWrite lets one process write to a file that the other has mapped, as LMDB and bbolt do.
func (c *checker) mapWrite(p pair) (Answer, string, error) {
	const size, turns = 8 << 10, 20
	refused, err := c.mapped(p, size, p.b)
	if err != nil || refused != "" {
		return No, refused, err
	}
	lost, refused, err := c.turns(p, step.Write, turns, false)
	switch {
	case err != nil || refused != "":
		return No, refused, err
	case lost > 0:
		return No, fmt.Sprintf("%d of %d writes did not show in the other's map", lost, turns), nil
	}
	return Yes, "", nil
}

// locks asks whether a lock of one process keeps the other out, ends with an unlock, and ends with its process.
func locks(how string) func(*checker, pair) (Answer, string, error) {
	return func(c *checker, p pair) (Answer, string, error) {
		dir, err := c.folder()
		if err != nil {
			return "", "", err
		}
		path := dir + "/lock"
		// The owner is a process of its own, which can be killed.
		owner := side{p.a.agent, 9}
		open := step.Call{Op: step.Open, Path: path, File: 1, How: "create"}
		if err := c.must(owner, open); err != nil {
			return "", "", err
		}
		open.How = "rw"
		if err := c.must(p.b, open); err != nil {
			return "", "", err
		}
		lock := step.Call{Op: step.Lock, File: 1, How: how, Offset: 1 << 30, Length: 1} // SQLite locks bytes there.
		unlock := lock
		unlock.Op = step.Unlock
		a, err := c.together(move{side: owner, Call: lock})
		if err != nil {
			return "", "", err
		}
		if !a[0].OK() {
			return No, "a lock is refused: " + a[0].Error, nil
		}
		b, err := c.do(p.b, lock)
		if err != nil {
			return "", "", err
		}
		if b.OK() {
			return No, "both got the lock", nil
		}
		if b.Errno != "EAGAIN" && b.Errno != "EACCES" {
			return No, "the other's try failed: " + b.Error, nil
		}
		if err := c.must(owner, unlock); err != nil {
			return "", "", err
		}
		if b, err = c.do(p.b, lock); err != nil {
			return "", "", err
		}
		if !b.OK() {
			return No, "the lock stays after an unlock: " + b.Error, nil
		}
		if err := c.must(p.b, unlock); err != nil {
			return "", "", err
		}
		if err := c.must(owner, lock); err != nil {
			return "", "", err
		}
		if _, err := c.together(move{side: owner, end: true}); err != nil {
			return "", "", err
		}
		if b, err = c.do(p.b, lock); err != nil {
			return "", "", err
		}
		if !b.OK() {
			return No, "the lock of a process that was killed stays", nil
		}
		return Yes, "", c.must(p.b, step.Call{Op: step.Close, File: 1})
	}
}

// lockUpgrade asks whether a process can turn its shared lock into an exclusive one, as SQLite does for each commit. SMB has no
// such step: without the option nobrl, Linux's client is refused because of the lock that it has.
func (c *checker) lockUpgrade() (Answer, string, error) {
	path, err := c.file()
	if err != nil {
		return "", "", err
	}
	owner := side{c.main.agent, 9} // It ends with its locks.
	if err := c.must(owner, step.Call{Op: step.Open, Path: path, File: 1, How: "rw"}); err != nil {
		return "", "", err
	}
	lock := step.Call{Op: step.Lock, File: 1, How: "posix shared", Offset: 1<<30 + 2, Length: 510} // SQLite's range.
	upgrade := lock
	upgrade.How = "posix"
	a, err := c.together(move{side: owner, Call: lock}, move{side: owner, Call: upgrade})
	if err != nil {
		return "", "", err
	}
	if _, err := c.together(move{side: owner, end: true}); err != nil {
		return "", "", err
	}
	switch {
	case !a[0].OK():
		return No, "a shared lock is refused: " + reason(&a[0]), nil
	case !a[1].OK():
		return No, "the shared lock keeps its own process out: " + reason(&a[1]), nil
	}
	return Yes, "", nil
}

// processIDs asks whether two processes can have the same id: in containers and machines the kernel counts anew. Who tells by a
// stored id whether another process still runs, or locks the byte of its id, takes the other for itself.
func (c *checker) processIDs(p pair) (Answer, string, error) {
	a, err := c.do(p.a, step.Call{Op: step.PIDs})
	if err != nil {
		return "", "", err
	}
	b, err := c.do(p.b, step.Call{Op: step.PIDs})
	switch {
	case err != nil:
		return "", "", err
	case !a.OK() || !b.OK():
		return Unknown, "this system does not tell", nil
	case !slices.Equal(a.Names, b.Names):
		return No, "each side counts its own", nil
	}
	return Yes, "", nil
}

// reason is an answer's error without the path, which is Plimsoll's own.
func reason(a *step.Answer) string {
	if i := strings.LastIndex(a.Error, ": "); i >= 0 {
		return a.Error[i+2:]
	}
	return a.Error
}
