package disktest

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BindFS mounts a folder once more through the FUSE program bindfs; with eatmydata, that program's own syncs do nothing. options are
// its mount options.
func BindFS(t testing.TB, folder string, eatmydata bool, options ...string) string {
	t.Helper()
	argv := []string{"bindfs", "-f"}
	for _, o := range options {
		argv = append(argv, "-o", o)
	}
	argv = append(argv, folder, t.TempDir())
	if eatmydata {
		argv = append([]string{"eatmydata"}, argv...)
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		t.Fatal("scripts/setup test installs it: ", err)
	}
	at := argv[len(argv)-1]
	noteMount(t, at)
	cmd := exec.Command(argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Unmount(at); err != nil {
			t.Error(err)
		}
		cmd.Wait()
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var st unix.Statfs_t
		if err := unix.Statfs(at, &st); err != nil {
			t.Fatal(err)
		}
		if st.Type == unix.FUSE_SUPER_MAGIC {
			return at
		}
		if time.Now().After(end) {
			t.Fatalf("%v serves nothing", argv)
		}
	}
}
