package procfs

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Descendants lists what a process of the procfs at root has started, and what that has, and so on: each behind the one that started it. Those
// whose parent has ended are another's children by then.
func Descendants(root string, pid int) []int {
	return look(root).below([]int{pid})[1:]
}

// Inside lists the processes of the container whose first one is pid, with it: its descendants, and what is in its namespaces of mounts and of
// process ids, with descendants. An engine's exec puts processes there that are not the first one's children, and with the host's process ids a
// process whose parent has ended is a child of the host's. A namespace of mounts that is also the parent's, or root's own reader's, is no container's.
func Inside(root string, pid int) []int {
	l := look(root)
	all := []int{pid}
	namespaces := func(pid int) (mounts, pids string) {
		dir := filepath.Join(root, strconv.Itoa(pid), "ns")
		mounts, _ = os.Readlink(filepath.Join(dir, "mnt"))
		pids, _ = os.Readlink(filepath.Join(dir, "pid"))
		return mounts, pids
	}
	mounts, pids := namespaces(pid)
	around, _ := namespaces(Parent(root, pid))
	own, _ := os.Readlink(filepath.Join(root, "self", "ns", "mnt"))
	if mounts != "" && mounts != around && mounts != own {
		for _, p := range l.all {
			if m, n := namespaces(p); m == mounts && n == pids && p != pid {
				all = append(all, p)
			}
		}
	}
	return l.below(all)
}

// processes are those of a procfs, and which has started which.
type processes struct {
	all      []int
	children map[int][]int
}

func look(root string) processes {
	dirs, _ := filepath.Glob(filepath.Join(root, "[0-9]*"))
	l := processes{children: map[int][]int{}}
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			parent := Parent(root, pid)
			l.all, l.children[parent] = append(l.all, pid), append(l.children[parent], pid)
		}
	}
	return l
}

// below adds to processes what they have started, and what that has.
func (l processes) below(all []int) []int {
	for i := 0; i < len(all); i++ {
		for _, c := range l.children[all[i]] {
			// They are not read at one time: a number may have become another's.
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}

// Threads lists the threads of a process of the procfs at root, by their ids, that still do something: one on its way out is in no group of its own
// any more. Version 1 of control groups has each thread in a group of its own choice.
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
