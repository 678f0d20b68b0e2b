package store

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// TestCheckWritable: if another process keeps the database locked, the error names it before anything is measured.
// CheckWritable waits for a quick writer.
func TestCheckWritable(t *testing.T) {
	s := openTemp(t)
	must(t, s.CheckWritable())
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PLIMSOLL_TEST_HOLDER="+s.path)
	out, err := cmd.StdoutPipe()
	must(t, err)
	in, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	err = s.CheckWritable()
	want := "locked by another process "
	if runtime.GOOS == "linux" {
		want = fmt.Sprintf("locked by process %d ", cmd.Process.Pid)
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("CheckWritable() = %v, want %q", err, want)
	}
	in.Close()
	must(t, cmd.Wait())
	must(t, s.CheckWritable())
	var wait int
	must(t, s.db.QueryRow("PRAGMA busy_timeout").Scan(&wait))
	if wait != int(busyTimeout.Milliseconds()) {
		t.Errorf("a writer waits %d ms afterwards, want %v", wait, busyTimeout)
	}
}

// holdLock takes a writer's turn until its input ends.
func holdLock(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	fmt.Println("held")
	bufio.NewReader(os.Stdin).ReadByte()
	return tx.Rollback()
}
