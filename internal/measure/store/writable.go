package store

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// startTimeout is how long CheckWritable waits for another writer, whose write takes less than a millisecond.
const startTimeout = 2 * time.Second

// startRoom is the space in bytes that must be free for records before anything is measured: the log of 128 pages of 4
// KiB, and as much again in the database when the log is merged (dsn).
const startRoom = 1 << 20

// CheckWritable takes a writer's turn and gives it back, and checks that there is room for records, before minutes are
// spent on measuring. The error names the process that locks the database, if known, and what would help.
func (s *Store) CheckWritable() error {
	if s.readOnly {
		return fmt.Errorf("the database %s is read-only; the folder must exist and be writable: name another state folder with --state", s.path)
	}
	s.write.Lock()
	defer s.write.Unlock()
	ctx := context.Background()
	c, err := s.db.Conn(ctx)
	if err != nil {
		return s.explain("open", err)
	}
	defer c.Close()
	wait := func(d time.Duration) error {
		_, err := c.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", d.Milliseconds()))
		return err
	}
	if err := wait(startTimeout); err != nil {
		return s.explain("write to", err)
	}
	defer wait(busyTimeout)
	_, err = c.ExecContext(ctx, "BEGIN IMMEDIATE; ROLLBACK")
	if code(err)&0xff == sqlite3.SQLITE_BUSY {
		return fmt.Errorf("the database %s is locked by %s for more than %v: end that, or name another state folder with --state", s.path, s.holders(), startTimeout)
	}
	if err != nil {
		return s.explain("write to", err)
	}
	if err := checkRoom(filepath.Dir(s.path), startRoom); err != nil {
		return fmt.Errorf("records need %d KiB beside the database %s: %w; free some, or name another state folder with --state", startRoom>>10, s.path, err)
	}
	return nil
}

// checkRoom writes a file of n bytes in dir and removes it, because quotas, network disks and compressing file systems
// don't say beforehand how much they can take.
func checkRoom(dir string, n int) (err error) {
	f, err := os.CreateTemp(dir, ".room-*")
	if err != nil {
		return err
	}
	// Remove it at once, so that a killed process leaves nothing. Windows removes no open file.
	early := os.Remove(f.Name())
	defer func() {
		err = errors.Join(err, f.Close())
		if early != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	data := make([]byte, n)
	rand.Read(data)
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync() // File systems that allocate late report a lack of space here.
}

// holders names the processes that hold locks on the database's files.
func (s *Store) holders() string {
	inodes := map[string]bool{}
	for _, p := range []string{s.path, s.path + "-shm"} {
		if n := inode(p); n != "" {
			inodes[n] = true
		}
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return "another process"
	}
	defer f.Close()
	var all []string
	seen := map[string]bool{strconv.Itoa(os.Getpid()): true}
	// "2: POSIX  ADVISORY  WRITE 1234 fe:00:5678 120 120" (proc_locks(5)); readers are no obstacle.
	for lines := bufio.NewScanner(f); lines.Scan(); {
		w := strings.Fields(lines.Text())
		if len(w) < 6 || w[3] != "WRITE" || seen[w[4]] {
			continue
		}
		if _, n, _ := strings.Cut(w[5], ":"); inodes[n[strings.IndexByte(n, ':')+1:]] {
			seen[w[4]] = true
			all = append(all, "process "+w[4])
		}
	}
	if len(all) == 0 {
		return "another process"
	}
	return strings.Join(all, " and ")
}
