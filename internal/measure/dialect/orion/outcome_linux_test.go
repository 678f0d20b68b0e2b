package orion

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/disktest"
)

// TestFilesAreWhole: of the tables that a disk has no space for nothing is left.
func TestFilesAreWhole(t *testing.T) {
	dir := disktest.Tmpfs(t, "size=16k")
	t.Chdir(dir)
	test := &Test{Name: "t"}
	_, files, err := test.create(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for i, kind := range fileKinds {
		text[kind] = strings.Repeat("x", 100+i%2*100000)
	}
	if err := fill(files, text); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("fill() = %v, want that there is no space", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) == 0 || len(left) == len(fileKinds) {
		t.Errorf("%d of %d files are left", len(left), len(fileKinds))
	}
	for _, f := range left {
		if st, err := f.Info(); err != nil || st.Size() != 100 {
			t.Errorf("%s has %d bytes, %v", f.Name(), st.Size(), err)
		}
	}
}

func TestExplain(t *testing.T) {
	test := &Test{}
	for err, want := range map[error]bool{
		&workload.MissingError{Job: "a", Path: "b"}: true, errors.New("a library does not exist"): false,
	} {
		if got := strings.Contains(test.explain(err).Error(), "--lun-size"); got != want {
			t.Errorf("explain(%v) names --lun-size: %v", err, got)
		}
	}
}
