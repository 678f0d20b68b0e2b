// Package website generates the sources of a web site, as input for measuring a site generator: posts in Markdown,
// layouts, and the site's pictures and other files.
//
// The published measurement behind it (docs/reference/plan.md, "site-build") built a site of 308 posts in 3,604 files
// of 278 MB with Jekyll. That site isn't available, so this one matches its numbers: a few large files make up most of
// the bytes, most files are small, and Jekyll can read all of them without a plug-in.
//
// The same Spec produces the same bytes everywhere, so a difference between two places never comes from the site.
package website

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
)

// A Spec is the size of a site. Zero values mean those of the published site.
type Spec struct {
	// Seed selects a different site of the same size. Default: 1.
	Seed uint64 `json:"seed,omitempty"`
	// Posts is the number of files that are posts, in Markdown. Default: 308.
	Posts int `json:"posts,omitempty"`
	// Files is the total number of files. Default: 3,604.
	Files int `json:"files,omitempty"`
	// Bytes is their total size. Default: 278 MB.
	Bytes int64 `json:"bytes,omitempty"`
}

// The published site.
const (
	DefaultPosts = 308
	DefaultFiles = 3604
	DefaultBytes = 278_000_000
)

// Bounds, which keep a typing error from filling a disk.
const (
	MaxFiles = 1_000_000
	MaxBytes = 1 << 40
)

// WithDefaults returns s with its zero values replaced by defaults.
func (s Spec) WithDefaults() Spec {
	if s.Seed == 0 {
		s.Seed = 1
	}
	if s.Posts == 0 {
		s.Posts = DefaultPosts
	}
	if s.Files == 0 {
		s.Files = DefaultFiles
	}
	if s.Bytes == 0 {
		s.Bytes = DefaultBytes
	}
	return s
}

// leastFile is the size of the smallest picture or other file in bytes.
const leastFile = 64

// Validate reports what is wrong with s, in the words of a plan.
func (s Spec) Validate() error {
	s = s.WithDefaults()
	if min(s.Posts, s.Files) < 1 || s.Files > MaxFiles || s.Bytes < 1 || s.Bytes > MaxBytes {
		return fmt.Errorf("site: %d posts of %d files with %d bytes is not between 1 and %d files of %d bytes in all", s.Posts, s.Files, s.Bytes, MaxFiles, int64(MaxBytes))
	}
	own := len(frame) + s.Posts
	if s.Files <= own {
		return fmt.Errorf("site: %d files are too few for %d posts: its layouts and pages are %d more, and it has one picture at least", s.Files, s.Posts, len(frame))
	}
	if least := s.leastBytes(); s.Bytes < least {
		return fmt.Errorf("site: %d bytes are too few for %d posts in %d files: it takes %d at least", s.Bytes, s.Posts, s.Files, least)
	}
	return nil
}

// leastBytes returns the minimum size of a site: the maximum of its texts and the minimum of each other file.
func (s Spec) leastBytes() int64 {
	n := int64(s.Posts)*maxPost + int64(s.Files-s.Posts-len(frame))*leastFile
	for _, f := range frame {
		n += int64(len(f.text))
	}
	return n
}

// String returns a folder name for the site: different sites have different names.
func (s Spec) String() string {
	s = s.WithDefaults()
	return fmt.Sprintf("site-%d-%d-%d-%d", s.Seed, s.Posts, s.Files, s.Bytes)
}

// perFolder is the number of pictures in a folder.
const perFolder = 100

// Each generates the files one after another and calls put with the path of each, with slashes, and its contents, which
// are valid during the call. It stops at the first error of put, and returns it.
func (s Spec) Each(put func(name string, data []byte) error) error {
	if err := s.Validate(); err != nil {
		return err
	}
	s = s.WithDefaults()
	rng := rand.New(rand.NewPCG(s.Seed, uint64(s.Files)))
	left := s.Bytes
	for _, f := range frame {
		left -= int64(len(f.text))
		if err := put(f.name, []byte(f.text)); err != nil {
			return err
		}
	}
	for i := range s.Posts {
		name, text := post(rng, i)
		left -= int64(len(text))
		if err := put(name, text); err != nil {
			return err
		}
	}
	var key [32]byte
	copy(key[:], fmt.Sprint("site ", s.Seed))
	noise := rand.NewChaCha8(key)
	for i, n := range sizes(rng, s.Files-s.Posts-len(frame), left) {
		data := make([]byte, n)
		noise.Read(data) // Pictures are incompressible.
		name := path.Join("assets", fmt.Sprintf("a%03d", i/perFolder), fmt.Sprintf("picture-%05d.%s", i, kinds[i%len(kinds)]))
		if err := put(name, data); err != nil {
			return err
		}
	}
	return nil
}

// kinds are the extensions of the other files: Jekyll copies all of them and interprets none.
var kinds = []string{"jpg", "png", "jpg", "gif", "pdf", "css.txt"}

// sizes divides total bytes among n files like the pictures of a site: log-normal, with half of the files smaller than
// a fifth of the mean.
func sizes(rng *rand.Rand, n int, total int64) []int64 {
	const sigma = 1.8
	weights := make([]float64, n)
	sum := 0.0
	for i := range weights {
		weights[i] = math.Exp(sigma * min(rng.NormFloat64(), 2.5)) // No file has a large part of the total.
		sum += weights[i]
	}
	out := make([]int64, n)
	spare := total - int64(n)*leastFile
	used := int64(0)
	for i, w := range weights {
		out[i] = leastFile + int64(float64(spare)*w/sum)
		used += out[i]
	}
	// The last file gets the remainder of the rounding.
	out[n-1] += total - used
	return out
}

// Write creates the site in dir, which must exist and be empty. It stops when ctx is done.
func (s Spec) Write(ctx context.Context, dir string) error {
	made := map[string]bool{}
	return s.Each(func(name string, data []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if folder := filepath.Dir(to); !made[folder] {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return err
			}
			made[folder] = true
		}
		return os.WriteFile(to, data, 0o644)
	})
}
