package procfs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of the text of Waits: it is kept in a record, and the processes may be any program's.
const (
	mostProcesses = 12
	mostKinds     = 8
	mostFrames    = 10
	mostName      = 60
)

// Waits reports, a line for each, what a process of the procfs at root and its descendants are doing: the states of their threads,
// and the kernel's functions in which they sleep (wchan of proc_pid_wchan(5)). A thread in uninterruptible sleep, which usually
// waits for a disk, has its kernel stack, the innermost function first (proc_pid_stack(5), for root only). The line ends with the
// time that the process ran on a CPU and the time that it waited for one (schedstat of Documentation/scheduler/sched-stats.rst):
// they distinguish a process that spins, or isn't allowed to run, from one that sleeps. It also reports unread bytes in the pipes of
// standard input and output. Processes that have ended are left out; if all have, it is empty.
func Waits(root string, pid int) []string {
	var lines []string
	for _, p := range append([]int{pid}, Descendants(root, pid)...) {
		if len(lines) == mostProcesses {
			return append(lines, "and more processes")
		}
		if line := waits(root, p); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// Parent returns the parent of a process, 0 if it is unknown.
func Parent(root string, pid int) int {
	f := stat(filepath.Join(root, strconv.Itoa(pid)))
	if len(f) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(f[1])
	return parent
}

// waits returns the line of one process, "" if it has ended.
func waits(root string, pid int) string {
	dir := filepath.Join(root, strconv.Itoa(pid))
	tasks, _ := os.ReadDir(filepath.Join(dir, "task"))
	var kinds []string
	count := map[string]int{}
	for _, t := range tasks {
		task := filepath.Join(dir, "task", t.Name())
		kind := doing(task)
		if kind == "" {
			continue
		}
		if count[kind]++; count[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	ran, wanted, _ := Scheduled(root, pid)
	// The rarest state first: most threads of a program wait for work.
	slices.SortStableFunc(kinds, func(a, b string) int { return count[a] - count[b] })
	rest := ""
	if len(kinds) > mostKinds {
		kinds, rest = kinds[:mostKinds], ", and others"
	}
	for i, k := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", count[k], k)
	}
	ms := time.Millisecond
	return fmt.Sprintf("%s (process %d): %s%s; ran for %v, waited %v for a CPU%s", name(dir), pid, strings.Join(kinds, ", "), rest, ran.Round(ms), wanted.Round(ms), left(dir))
}

// left says how many bytes are unread in the pipes to a process and from it.
func left(dir string) string {
	text := ""
	for fd, what := range []string{"to it", "from it"} {
		if n := unread(filepath.Join(dir, "fd", strconv.Itoa(fd))); n > 0 {
			text += fmt.Sprintf("; %d bytes %s are unread", n, what)
		}
	}
	return text
}

// states are the kernel's letters (proc_pid_stat(5)) for all but interruptible sleep.
var states = map[string]string{
	"R": "running or ready to", "S": "asleep", "D": "in an uninterruptible wait", "T": "stopped", "t": "stopped by a tracer",
	"Z": "ended, and its parent has not asked", "X": "ended", "I": "idle",
}

// doing reports what a thread does, "" if it has ended.
func doing(task string) string {
	f := stat(task)
	if len(f) == 0 {
		return ""
	}
	text, ok := states[f[0]]
	if !ok {
		text = "in state " + short(f[0])
	}
	if f[0] == "D" {
		if way := frames(task); way != "" {
			return text + " in " + way
		}
	}
	if b, err := os.ReadFile(filepath.Join(task, "wchan")); err == nil && len(b) > 0 && string(b) != "0" {
		text += " in " + short(string(b))
	}
	return text
}

// stat returns the fields of a stat file from the third on, none if it can't be read.
func stat(dir string) []string {
	b, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil || !bytes.Contains(b, []byte(")")) {
		return nil
	}
	return statFields(string(b))
}

// frames returns the kernel's functions that a thread is in, from lines such as "[<0>] io_schedule+0x42/0x70".
func frames(task string) string {
	b, _ := os.ReadFile(filepath.Join(task, "stack"))
	var names []string
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 || len(names) == mostFrames {
			break
		}
		function, _, _ := strings.Cut(f[1], "+")
		names = append(names, short(function))
	}
	return strings.Join(names, " < ")
}

// Scheduled adds up how long the threads of a process of the procfs at root have run on a CPU so far, and how long they waited for
// one, in nanoseconds (Documentation/scheduler/sched-stats.rst, schedstat). Threads that have ended are left out. known is false if
// none could be read: a kernel without CONFIG_SCHED_INFO has no such file.
func Scheduled(root string, pid int) (ran, wanted time.Duration, known bool) {
	files, _ := filepath.Glob(filepath.Join(root, strconv.Itoa(pid), "task", "*", "schedstat"))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		var r, w int64
		if n, _ := fmt.Sscan(string(b), &r, &w); n == 2 {
			ran, wanted, known = ran+time.Duration(r), wanted+time.Duration(w), true
		}
	}
	return ran, wanted, known
}

// name is the name of a process: its program and, for one such as "worker trial", the word after it.
func name(dir string) string {
	b, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	words := strings.Split(string(b), "\x00")
	if words[0] == "" {
		b, _ = os.ReadFile(filepath.Join(dir, "comm"))
		return short(strings.TrimSpace(string(b))) // It has ended, or is a kernel thread.
	}
	text := filepath.Base(words[0])
	if len(words) > 1 && words[1] != "" && !strings.HasPrefix(words[1], "-") {
		text += " " + words[1]
	}
	return short(text)
}

// short returns another program's text on one line, shortened and safe to print.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return s[:min(len(s), mostName)]
}
