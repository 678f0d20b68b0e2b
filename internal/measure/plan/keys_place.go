package plan

import (
	"errors"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/place"
)

// places is the table of the keys of places. Shares have no keys yet, so a plan may not name them.
func places() strict.Named[place.Spec] {
	type P = place.Spec
	folder := strict.Key("path", "The host's folder, absolute. Default: a folder of Plimsoll's own. Trials work in a sub-folder that they make and remove.", absolute(), func(p *P) *string { return &p.Path })
	own := strict.Key("own_device", "Size of a disk for the place alone: a file system on a loop device that is made for the run and removed. Needs root on Linux.", strict.Size(minOwnDevice, limit.MaxMemory), func(p *P) *int64 { return &p.OwnDevice })
	return strict.Named[P]{
		Name: func(p *P) *string { return &p.Name },
		Entry: strict.Variants[P]{
			What: "place",
			Kind: func(p *P) *string { return (*string)(&p.Kind) },
			Kinds: []strict.Variant[P]{
				{Kind: string(place.Dir), Section: strict.Section[P]{What: "a place of kind dir", Check: checkOwnDevice, Fields: []strict.Field[P]{folder, own}}},
				{Kind: string(place.Layer), Section: strict.Section[P]{What: "a place of kind layer"}},
				{Kind: string(place.Bind), Section: strict.Section[P]{What: "a place of kind bind", Check: checkOwnDevice, Fields: []strict.Field[P]{folder, own}}},
				{Kind: string(place.Volume), Section: strict.Section[P]{What: "a place of kind volume", Fields: []strict.Field[P]{
					strict.Key("driver", "The volume driver. Default: local.", strict.Words("the name of a driver", 255, false), func(p *P) *string { return &p.Driver }),
					strict.Key("driver_opts", "The driver's options, passed on as text.", strict.TextMap{}, func(p *P) *map[string]string { return &p.DriverOpts }),
				}}},
				{Kind: string(place.Tmpfs), Section: strict.Section[P]{What: "a place of kind tmpfs", Fields: []strict.Field[P]{
					strict.Key("size", "Its capacity. Default: as much as the workloads need.", strict.Size(1<<20, limit.MaxMemory), func(p *P) *int64 { return &p.Size }),
				}}},
			},
			Implied: impliedPlace,
		},
	}
}

// minOwnDevice is loopdisk.MinSize: a small ext4.
const minOwnDevice = 32 << 20

// checkOwnDevice refuses a folder on a disk that is yet to be made.
func checkOwnDevice(d *strict.Decoder, path string, p *place.Spec) {
	if p.OwnDevice > 0 && p.Path != "" {
		d.Fail(path, "own_device makes a disk with a folder of its own: leave out path")
	}
}

// impliedPlace is the kind of a place whose name is that kind.
func impliedPlace(name string) string {
	for _, k := range place.Kinds {
		if name == string(k) && k != place.Share {
			return name
		}
	}
	return ""
}

// absolutePattern accepts /srv, C:\data and \\server\share: a plan may be
// checked on another system than it runs on.
const absolutePattern = `^(/|[A-Za-z]:[\\/]|\\\\)`

func absolute() strict.Scalar[string] {
	s := strict.Words("an absolute path", 4096, false)
	parse := s.Parse
	s.Parse = func(n *yaml.Node) (string, error) {
		v, err := parse(n)
		switch {
		case err != nil:
			return "", err
		case strings.HasPrefix(v, "~"):
			return "", errors.New("~ is not expanded in plans: write the whole path instead of " + strict.Short(v))
		case strings.HasPrefix(v, "/"):
			return path.Clean(v), nil
		case len(v) > 2 && v[1] == ':' && (v[2] == '\\' || v[2] == '/') && isLetter(v[0]), strings.HasPrefix(v, `\\`):
			return v, nil
		}
		return "", errors.New(strict.Short(v) + " is not absolute: write the whole path, beginning with /")
	}
	s.JSON = func() strict.Object {
		return strict.Object{"type": "string", "maxLength": 4096, "pattern": absolutePattern}
	}
	return s
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
