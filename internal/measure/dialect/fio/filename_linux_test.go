package fio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nrfiles behind filename is how many of the files are used, and before it nothing, on a line and in a file, as in fio.
func TestNrFilesOfFilename(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ args, text string }{
		"behind it":               {args: "--name=j --size=24k --rw=read --filename=a:b:c --nrfiles=2"},
		"before it":               {args: "--name=j --size=24k --rw=read --nrfiles=2 --filename=a:b:c"},
		"more than there are":     {args: "--name=j --size=24k --rw=read --filename=a:b --nrfiles=3"},
		"one":                     {args: "--filename=a:b:c --name=j --size=24k --rw=read --nrfiles=1"},
		"in one section":          {text: "[j]\nfilename=a:b:c\nnrfiles=2\nsize=24k\nrw=read\n"},
		"of a global filename":    {text: "[global]\nfilename=a:b:c\n[j]\nnrfiles=2\nsize=24k\nrw=read\n"},
		"made by a job before":    {text: "[global]\nfilename_format=a\n[w]\nrw=write\nsize=24k\n[r]\nstonewall\nrw=randread\n"},
		"global, before filename": {text: "[global]\nnrfiles=2\n[j]\nfilename=a:b:c\nsize=24k\nrw=read\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(c.args)
			var made [2]string
			for i, do := range []func(*testing.T, string, ...string) string{peer, run} {
				dir := t.TempDir()
				if c.text != "" {
					args = []string{"j.fio"}
					if err := os.WriteFile(filepath.Join(dir, "j.fio"), []byte(c.text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				did := issued(do(t, dir, args...))
				all, err := filepath.Glob(filepath.Join(dir, "[abc]"))
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range all {
					made[i] += filepath.Base(f)
				}
				made[i] += strings.Join(did, " ")
			}
			if made[0] != made[1] {
				t.Errorf("fio: %s, ours: %s", made[0], made[1])
			}
		})
	}
}
