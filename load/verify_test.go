package load

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestVerifyFindsWhatIsWrong(t *testing.T) {
	for _, engine := range realEngines() {
		needEngine(t, engine)
		path := zeros(t, t.TempDir(), 1<<20)
		j := Job{RW: RandWrite, BS: 16384, IODepth: 4, Filename: path, IOEngine: engine, Verify: true}
		start(t, j)
		j.RW = Read
		if c := start(t, j).Class("read"); c.Bytes != 1<<20 {
			t.Fatalf("%s: verified %d bytes", engine, c.Bytes)
		}
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name   string
			damage func(p []byte)
			want   string
		}{
			{"one bit", func(p []byte) { p[5*4096+100] ^= 1 }, "damaged"},
			{"lost", func(p []byte) { clear(p[5*4096:][:4096]) }, "only zeros"},
			{"misplaced", func(p []byte) { copy(p[5*4096:], p[9*4096:][:4096]) }, "the block of offset 36864"},
			{"torn", func(p []byte) { copy(p[5*4096+512:], p[9*4096+512:][:512]) }, "damaged"},
			{"other data", func(p []byte) { copy(p[5*4096:], bytes.Repeat([]byte("plim"), 1024)) }, "no stamp"},
		} {
			p := bytes.Clone(good)
			c.damage(p)
			if err := os.WriteFile(path, p, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := prepare(t, j).Start(context.Background(), nil)
			var bad *VerifyError
			if !errors.As(err, &bad) {
				t.Errorf("%s, %s: %v", engine, c.name, err)
				continue
			}
			if bad.Offset != 5*4096 || bad.Path != path {
				t.Errorf("%s, %s: at %d of %s, want %d of %s", engine, c.name, bad.Offset, bad.Path, 5*4096, path)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %v, want %q", engine, c.name, err, c.want)
			}
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
		j.RandSeed = 77
		if _, err := prepare(t, j).Start(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "another run") {
			t.Errorf("%s: another run's blocks: %v", engine, err)
		}
	}
}
