package diskspd

import (
	"errors"

	"plimsoll/internal/conf/userfile"
)

// Most of a file's content that is written (-Z<size>,<file>): of one target, and of all targets of a
// time span, which travel to the worker together.
const (
	maxSource  = 1 << 20
	maxSources = 4 << 20
)

// sources reads the files from which targets are written.
func (c *checker) sources(p *Profile, opt ParseOptions) error {
	for i := range p.Spans {
		s, all := &p.Spans[i], 0
		for k := range s.Targets {
			t := &s.Targets[k]
			c.span, c.target = i+1, k+1
			if t.RandomFile == "" || t.WriteRatio == 0 {
				continue
			}
			if err := c.source(t, opt); err != nil {
				return err
			}
			if all += len(t.RandomData); all > maxSources {
				return c.bad("Z", "more than %d MiB are written from files in all: give less of them, as in -Z64K,%s", maxSources>>20, t.RandomFile)
			}
		}
	}
	c.span, c.target = 0, 0
	return nil
}

// source reads the file of one target.
func (c *checker) source(t *Target, opt ParseOptions) error {
	err := errors.New("no files can be read here")
	var data []byte
	if opt.ReadFile != nil {
		data, err = opt.ReadFile(t.RandomFile, maxSource)
	}
	size := min(uint64(len(data)), t.RandomSize)
	switch {
	case err != nil:
		return c.bad("Z", "%s: %v", t.RandomFile, userfile.Reason(err))
	case size == 0:
		return c.bad("Z", "%s is empty: there is nothing to write from it", t.RandomFile)
	case size > maxSource:
		return c.bad("Z", "at most 1 MiB of a file is written: take -Z1M,%s", t.RandomFile)
	}
	t.RandomData = data[:size]
	return nil
}
