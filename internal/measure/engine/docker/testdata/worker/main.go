// Command worker is the docker engine's test worker: it says hello and then
// does as each line of its input says, one line of answer each.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) != 4 || os.Args[1] != "agent" || os.Args[2] != "--dir" {
		fmt.Fprintln(os.Stderr, "usage: worker agent --dir DIR, not", os.Args)
		os.Exit(2)
	}
	dir := os.Args[3]
	if err := os.MkdirAll(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("{\"hello\":{\"version\":1,\"pid\":%d,\"dir\":%q}}\n", os.Getpid(), dir)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		word, rest, _ := strings.Cut(in.Text(), " ")
		fmt.Println(answer(dir, word, rest))
	}
}

func answer(dir, word, rest string) string {
	n, _ := strconv.Atoi(rest)
	switch word {
	case "echo":
		return rest
	case "stderr":
		fmt.Fprintln(os.Stderr, rest)
		return "ok"
	case "exit":
		os.Exit(n)
	case "hog":
		hog(n)
		return "not killed"
	case "write":
		return text(os.WriteFile(filepath.Join(dir, "data"), make([]byte, n), 0o644))
	case "fs":
		return fsType(dir)
	case "size":
		var st syscall.Statfs_t
		if err := syscall.Statfs(dir, &st); err != nil {
			return err.Error()
		}
		return strconv.FormatInt(int64(st.Blocks)*st.Bsize, 10)
	case "iouring":
		// io_uring_setup with no parameters: EFAULT where it is allowed.
		_, _, errno := syscall.Syscall(425, 1, 0, 0)
		return errno.Error()
	case "links":
		ds, err := os.ReadDir("/sys/class/net")
		return fmt.Sprint(len(ds), err)
	case "getenv":
		return os.Getenv(rest) + "."
	case "cpus":
		return strconv.Itoa(runtime.GOMAXPROCS(0))
	case "worker":
		exe, err := os.Executable()
		return exe + " " + text(err)
	case "user":
		wd, _ := os.Getwd()
		return fmt.Sprintf("%d %s", os.Getuid(), wd)
	case "exists":
		_, err := os.Stat(rest)
		return text(err)
	case "cgroup":
		b, err := os.ReadFile(rest)
		return strings.TrimSpace(string(b)) + text(err)
	case "sleep":
		time.Sleep(time.Hour)
	}
	return "what?"
}

// hog uses n bytes of memory, page by page.
func hog(n int) {
	b := make([]byte, n)
	for i := 0; i < n; i += 4096 {
		b[i] = 1
	}
	io.Discard.Write(b)
}

// fsType names the file system of dir by its mount.
func fsType(dir string) string {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err.Error()
	}
	best, at := "", ""
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if (f[4] == "/" || f[4] == dir || strings.HasPrefix(dir, f[4]+"/")) && len(f[4]) > len(at) {
			_, after, _ := strings.Cut(line, " - ")
			at, best = f[4], strings.Fields(after)[0]
		}
	}
	return best
}

func text(err error) string {
	if err == nil {
		return "ok"
	}
	return err.Error()
}
