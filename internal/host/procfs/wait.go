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

// Bounds of Waits' text: it goes into a record, and the processes may be any program's.
const (
	mostProcesses = 12
	mostKinds     = 8
	mostFrames    = 10
	mostName      = 60
)

// Waits reports what a process of the procfs at root and all that it started are doing, a line each: in which states the
// kernel has their threads, and in which of its functions they sleep (wchan of proc_pid_wchan(5)). For one that can't be
// woken by a signal, which waits for a disk as a rule, it has the way there, the innermost function first (proc_pid_stack(5),
// root's alone). At the end is how long the process ran on a CPU, and how long it wanted one and had to wait (schedstat
// of Documentation/scheduler/sched-stats.rst): together they distinguish a process that spins, or isn't
// allowed to run, from one that sleeps. Unread bytes in the pipes of its standard input and output are reported, too. Processes that are gone are left out; with none, it is empty.
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

// Parent returns the process that started another, 0 if that can't be told.
func Parent(root string, pid int) int {
	f := stat(filepath.Join(root, strconv.Itoa(pid)))
	if len(f) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(f[1])
	return parent
}

// waits is the line of one process, "" if it is gone.
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
	// The rarest first: most threads of a program wait for work.
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

// left reports how many bytes are unread in the pipes of a process: requests to it, and its answers.
func left(dir string) string {
	text := ""
	for fd, what := range []string{"to it", "from it"} {
		if n := unread(filepath.Join(dir, "fd", strconv.Itoa(fd))); n > 0 {
			text += fmt.Sprintf("; %d bytes %s are unread", n, what)
		}
	}
	return text
}

// states are the kernel's letters (proc_pid_stat(5)) for what isn't plain sleep.
var states = map[string]string{
	"R": "running or ready to", "S": "asleep", "D": "in an uninterruptible wait", "T": "stopped", "t": "stopped by a tracer",
	"Z": "ended, and its parent has not asked", "X": "ended", "I": "idle",
}

// doing reports what a thread does, "" if it is gone.
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

// stat are the fields of a stat file from the third on, none if it can't be read.
func stat(dir string) []string {
	b, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil || !bytes.Contains(b, []byte(")")) {
		return nil
	}
	return statFields(string(b))
}

// frames are the kernel's functions that a thread is in: of lines such as "[<0>] io_schedule+0x42/0x70".
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

// Scheduled adds up how long the threads of a process of the procfs at root have run on a CPU so far, and how long they wanted one and had
// to wait (Documentation/scheduler/sched-stats.rst: schedstat, in nanoseconds). Threads that have ended are left out. known is
// whether any could be read: a kernel without CONFIG_SCHED_INFO has none.
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

// name is how a process was called: its program and, for one such as "worker trial", the word behind it.
func name(dir string) string {
	b, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	words := strings.Split(string(b), "\x00")
	if words[0] == "" {
		b, _ = os.ReadFile(filepath.Join(dir, "comm"))
		return short(strings.TrimSpace(string(b))) // It has ended, or is the kernel's.
	}
	text := filepath.Base(words[0])
	if len(words) > 1 && words[1] != "" && !strings.HasPrefix(words[1], "-") {
		text += " " + words[1]
	}
	return short(text)
}

// short returns another program's word on one line, cut to a length that can be printed.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return s[:min(len(s), mostName)]
}
