package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"plimsoll/load"
)

// perFolder is how many source files share a folder, as the posts of a site do.
const perFolder = 40

// treeRun is a synthetic site build: it lists the source, then stats and reads each file, and writes an output for it.
type treeRun struct {
	spec   Spec
	source Source
	src    string
	out    string
	buf    []byte
	// prepared is how long writing the sources took, 0 if they existed.
	prepared time.Duration
	hang     func(*Result)
}

func prepareTree(ctx context.Context, spec Spec, f Folders) (_ *treeRun, err error) {
	t := &treeRun{spec: spec, src: filepath.Join(f.SourceDir(), "tree", fmt.Sprintf("src-%d-%d", spec.Count, spec.BS)), out: filepath.Join(f.Work, "tree", "out"), buf: make([]byte, 256<<10)}
	t.source = Source{Dir: t.src, Write: t.layout}
	t.prepared, err = t.source.Prepare(ctx, spec.Reads)
	return t, err
}

// layout writes the source files: sizes between a quarter and 1.75 times the mean,
// the same in every place, of data that can't be compressed.
func (t *treeRun) layout(ctx context.Context, src string) error {
	rng := rand.New(rand.NewPCG(1, uint64(t.spec.Count)))
	data := make([]byte, 2*t.spec.BS)
	noise := rand.NewChaCha8([32]byte{'t', 'r', 'e', 'e'})
	for i := range t.spec.Count {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		dir := filepath.Join(src, fmt.Sprintf("d%03d", i/perFolder))
		if i%perFolder == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		size := t.spec.BS/4 + rng.Int64N(t.spec.BS*3/2+1)
		noise.Read(data[:size])
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%05d", i)), data[:size], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// The classes of a build.
const (
	treeFile = iota
	treeStat
	treeRead
	treeWrite
)

// Run implements Runner.
func (t *treeRun) Run(ctx context.Context, onSample func(load.Sample)) (*Result, error) {
	if err := os.RemoveAll(t.out); err != nil {
		return nil, err
	}
	m := newMeter(t.spec.Runtime, onSample, t.hang, "file", "stat", "read", "write")
	// Only the last two builds stay, so that a long run doesn't fill the place; a site generator replaces its output, too.
	for build := 0; build == 0 || t.spec.Runtime > 0 && !m.done(time.Now()); build++ {
		if build >= 2 {
			if err := os.RemoveAll(filepath.Join(t.out, fmt.Sprint(build-2))); err != nil {
				return nil, m.partial(err)
			}
		}
		if err := t.build(ctx, m, filepath.Join(t.out, fmt.Sprint(build))); err != nil {
			return nil, m.partial(fmt.Errorf("build %d, after %d files in all: %w", build+1, m.ops, err))
		}
	}
	r := m.finish()
	r.Prepared, r.Source = t.prepared, t.source.State
	return r, nil
}

// OnHang implements Hanger.
func (t *treeRun) OnHang(tell func(*Result)) { t.hang = tell }

// build does one pass over the sources, or as much as fits into the window.
func (t *treeRun) build(ctx context.Context, m *meter, out string) error {
	dirs, err := os.ReadDir(t.src)
	if err != nil {
		return err
	}
	for _, d := range dirs {
		from, to := filepath.Join(t.src, d.Name()), filepath.Join(out, d.Name())
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		files, err := os.ReadDir(from)
		if err != nil {
			return err
		}
		for _, f := range files {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if m.done(time.Now()) {
				return nil
			}
			if err := t.page(m, filepath.Join(from, f.Name()), filepath.Join(to, f.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// page turns one source file into one output file.
func (t *treeRun) page(m *meter, from, to string) error {
	m.step(time.Now(), 1<<treeFile|1<<treeStat)
	if _, err := os.Stat(from); err != nil {
		return err
	}
	m.step(time.Now(), 1<<treeRead, ended{treeStat, 0})
	data, err := t.readAll(from)
	if err != nil {
		return err
	}
	n := int64(len(data))
	m.step(time.Now(), 1<<treeWrite, ended{treeRead, n})
	if err := writeFile(to, os.O_TRUNC, data); err != nil {
		return err
	}
	m.step(time.Now(), 0, ended{treeWrite, n}, ended{treeFile, 0})
	return nil
}

// readAll reads a file into the run's own buffer, which grows as needed.
func (t *treeRun) readAll(path string) ([]byte, error) {
	f, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.close()
	n := 0
	for {
		if n == len(t.buf) {
			t.buf = append(t.buf, make([]byte, len(t.buf))...)
		}
		k, err := f.read(t.buf[n:])
		if err != nil {
			return nil, err
		}
		if k == 0 {
			return t.buf[:n], nil
		}
		n += k
	}
}

// Close implements Runner. The sources stay for the next trial in this place; the outputs are removed, with their dirty
// pages.
func (t *treeRun) Close() error { return os.RemoveAll(t.out) }
