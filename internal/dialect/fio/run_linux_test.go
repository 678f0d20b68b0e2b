package fio

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/dialect/dialecttest"
)

// run runs a line in dir and returns its output. Files of --output and of logs go to dir, too.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := tryRun(t, dir, nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tryRun(t *testing.T, dir string, destructive []string, args ...string) (string, error) {
	t.Helper()
	test, err := Parse(args, fileSource(dir))
	if err != nil {
		t.Fatal(err)
	}
	var out, notes bytes.Buffer
	err = test.Run(context.Background(), &dialecttest.Local{Dir: dir}, &out, &notes, RunOptions{
		Destructive: destructive,
		Create:      func(name string) (io.WriteCloser, error) { return os.Create(filepath.Join(dir, name)) },
	})
	if notes.Len() > 0 {
		t.Log(notes.String())
	}
	return out.String(), err
}

// fileSource reads job files in dir.
func fileSource(dir string) Source {
	return Source{
		ReadFile: func(name string, limit int64) ([]byte, error) {
			f, err := os.Open(filepath.Join(dir, name))
			if err != nil {
				return nil, err
			}
			defer f.Close()
			return io.ReadAll(io.LimitReader(f, limit+1))
		},
		Env: os.Getenv,
	}
}

// issued is fio's line of counts, a job each.
func issued(text string) (out []string) {
	for _, l := range strings.Split(text, "\n") {
		if s, ok := strings.CutPrefix(strings.TrimSpace(l), "issued rwts: total="); ok {
			// Without the last number, of syncs: fio counts no fdatasync there, and leaves out the one that
			// would follow the last write.
			total := strings.Fields(s)[0]
			out = append(out, total[:strings.LastIndexByte(total, ',')])
		}
	}
	return out
}

// What a job does, and how large its files get, is what fio 3.33 does with it: the counts are compared.
func TestJobsDoWhatFioDoes(t *testing.T) {
	for name, args := range map[string][]string{
		"a pass":                  {"--rw=randread", "--size=1m"},
		"gaps go on":              {"--rw=read:4k", "--size=256k"},
		"io_size over size":       {"--rw=randread", "--size=256k", "--io_size=768k"},
		"io_size under size":      {"--rw=write", "--size=256k", "--io_size=64k"},
		"io_size in percent":      {"--rw=write", "--size=256k", "--io_size=50%"},
		"no whole block":          {"--rw=randread", "--size=10000"},
		"offset":                  {"--rw=read", "--size=64k", "--offset=32k", "--filename=f"},
		"offset_increment":        {"--rw=read", "--size=64k", "--offset=32k", "--offset_increment=16k", "--numjobs=3", "--filename=f"},
		"clones do the whole":     {"--rw=write", "--size=64k", "--numjobs=3"},
		"clones in a group":       {"--rw=write", "--size=64k", "--numjobs=3", "--group_reporting"},
		"files":                   {"--rw=read", "--size=64k", "--nrfiles=4"},
		"filesize":                {"--rw=read", "--size=64k", "--nrfiles=4", "--filesize=8k"},
		"several filenames":       {"--rw=read", "--size=64k", "--filename=f:g"},
		"filename_format":         {"--rw=read", "--size=64k", "--nrfiles=2", "--filename_format=x.$jobname.$filenum.$jobnum"},
		"directory":               {"--rw=read", "--size=64k", "--directory=."},
		"loops":                   {"--rw=randwrite", "--size=64k", "--loops=3"},
		"number_ios":              {"--rw=randread", "--size=256k", "--number_ios=10"},
		"number_ios and loops":    {"--rw=randread", "--size=256k", "--number_ios=10", "--loops=3"},
		"number_ios over size":    {"--rw=randread", "--size=64k", "--number_ios=1000"},
		"runtime is only a limit": {"--rw=read", "--size=64k", "--runtime=60"},
		"norandommap":             {"--rw=randread", "--size=256k", "--norandommap"},
		"zipf":                    {"--rw=randread", "--size=256k", "--random_distribution=zipf:1.2"},
		"readwrite sequential":    {"--rw=randwrite:8", "--size=256k"},
		"fsync":                   {"--rw=write", "--size=64k", "--fsync=4"},
		"fdatasync, large blocks": {"--rw=write", "--size=256k", "--bs=16k", "--fdatasync=2", "--direct=1"},
		"verify":                  {"--rw=randwrite", "--size=64k", "--verify=crc32c"},
		"verify later":            {"--rw=write", "--size=64k", "--verify=crc32c", "--do_verify=0"},
		"two jobs":                {"--rw=read", "--size=64k", "--name=k", "--rw=write", "--size=128k", "--stonewall"},
		"kib is 1000":             {"--rw=read", "--size=64kib"},
		"kb_base":                 {"--kb_base=1000", "--size=64kib", "--rw=read"},
		"unlink":                  {"--rw=write", "--size=64k", "--unlink=1"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"--name=j", "--bs=4k"}, args...)
			theirDir, ourDir := t.TempDir(), t.TempDir()
			theirs, ours := issued(peer(t, theirDir, args...)), issued(run(t, ourDir, args...))
			if strings.Join(theirs, " ") != strings.Join(ours, " ") || len(ours) == 0 {
				t.Errorf("fio did %v, ours %v", theirs, ours)
			}
			if a, b := files(t, theirDir), files(t, ourDir); a != b {
				t.Errorf("fio left %s, ours %s", a, b)
			}
		})
	}
}

func files(t *testing.T, dir string) string {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range all {
		st, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		// fio keeps its own books of what it verifies.
		if !strings.HasSuffix(f.Name(), "-verify.state") {
			out = append(out, f.Name()+" "+strings.TrimSpace(blockName(st.Size())))
		}
	}
	return strings.Join(out, ", ")
}
