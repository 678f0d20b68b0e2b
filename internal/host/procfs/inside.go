package procfs

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Descendants lists the processes that a process of the procfs at root has started, their children, and so on, each after its
// parent. When a process ends, its children become another process's.
func Descendants(root string, pid int) []int {
	return Look(root).below([]int{pid}, nil)[1:]
}

// Processes are the processes of a procfs at one time, with their parents and namespaces.
type Processes struct {
	root     string
	all      []int
	children map[int][]int
	// spaces are the namespaces of each process; in has the processes of each pair of namespaces. Both are nil until needed.
	spaces map[int]space
	in     map[space][]int
}

// A space is a pair of namespaces, of mounts and of process ids, by name; "" for one that can't be read.
type space struct{ mounts, pids string }

// Look reads the processes of the procfs at root.
func Look(root string) *Processes {
	dirs, _ := filepath.Glob(filepath.Join(root, "[0-9]*"))
	l := &Processes{root: root, children: map[int][]int{}}
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			parent := Parent(root, pid)
			l.all, l.children[parent] = append(l.all, pid), append(l.children[parent], pid)
		}
	}
	return l
}

// spaceOf reads the namespaces of a process: a number, or "self".
func (l *Processes) spaceOf(pid string) (s space) {
	dir := filepath.Join(l.root, pid, "ns")
	s.mounts, _ = os.Readlink(filepath.Join(dir, "mnt"))
	s.pids, _ = os.Readlink(filepath.Join(dir, "pid"))
	return s
}

// namespaces reads those of all processes.
func (l *Processes) namespaces() {
	if l.spaces != nil {
		return
	}
	l.spaces, l.in = map[int]space{}, map[space][]int{}
	for _, p := range l.all {
		s := l.spaceOf(strconv.Itoa(p))
		l.spaces[p], l.in[s] = s, append(l.in[s], p)
	}
}

// Inside lists the processes of the container whose first process is pid: pid itself, its descendants, and the processes in its
// namespaces of mounts and of process ids, with their descendants. An engine's exec puts processes there that are not children of
// the first one. If the container uses the host's process ids, a process whose parent has ended becomes a child of one of
// the host's. A mount namespace that is also the parent's, or Plimsoll's own, does not identify a container.
//
// If containers share a namespace of process ids, the first process of one of them becomes the parent of the others' orphans. Such
// an orphan has the mount namespace of a container whose first process is no descendant of pid, so it is left out.
func (l *Processes) Inside(pid int) []int {
	l.namespaces()
	own, reader := l.spaces[pid], l.spaceOf("self").mounts
	all := []int{pid}
	if own.mounts != "" && own.mounts != l.spaces[Parent(l.root, pid)].mounts && own.mounts != reader {
		for _, p := range l.in[own] {
			if p != pid {
				all = append(all, p)
			}
		}
	}
	inside, others := map[int]bool{}, map[int]bool{}
	for _, p := range l.below(all, nil) {
		inside[p] = true
	}
	for p := range inside {
		s := l.spaces[p]
		if s.mounts == own.mounts || s.mounts == reader || s.mounts == l.spaces[1].mounts {
			continue
		}
		if slices.ContainsFunc(l.in[s], func(q int) bool { return !inside[q] }) {
			others[p] = true
		}
	}
	return l.below(all, others)
}

// below adds to processes all of their descendants, except those that are left out.
func (l *Processes) below(all []int, without map[int]bool) []int {
	all = slices.Clone(all)
	// The processes are not read at one instant: the kernel may have reused a number.
	known := maps.Clone(without)
	if known == nil {
		known = map[int]bool{}
	}
	for _, p := range all {
		known[p] = true
	}
	for i := 0; i < len(all); i++ {
		for _, c := range l.children[all[i]] {
			if !known[c] {
				known[c] = true
				all = append(all, c)
			}
		}
	}
	return all
}

// Threads lists the ids of a process's threads in the procfs at root, without those that are exiting, which are in no group any
// more. With version 1 of control groups each thread may be in a group of its own.
func Threads(root string, pid int) (ids []int) {
	dirs, _ := filepath.Glob(filepath.Join(root, strconv.Itoa(pid), "task", "[0-9]*"))
	for _, dir := range dirs {
		id, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if _, err := Running(filepath.Dir(dir), id); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
