package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/size"
	"plimsoll/load"
)

// distribution is fio's random_distribution.
func distribution() strict.Scalar[string] {
	s := strict.Words("a distribution such as zipf:1.1", 4096, false)
	parse := s.Parse
	s.Parse = func(n *yaml.Node) (string, error) {
		v, err := parse(n)
		if err == nil {
			_, err = load.ParseDistribution(v)
		}
		return v, err
	}
	s.JSON = func() strict.Object {
		return strict.Object{"type": "string", "pattern": "^(random|zipf|pareto|normal|zoned|zoned_abs)(:.*)?$"}
	}
	return s
}

// splits is fio's bssplit with sizes as everywhere in a plan: those of the reads and, after a comma, those of the writes.
// Without a comma both directions have the same; checkJob removes the direction that the job doesn't have.
type splits struct{}

const splitsWant = "sizes with percentages such as 4KiB/60:64KiB/40"

// splitsPattern matches everything that splits accepts.
const splitsPattern = `^[^/:,]+/[0-9.]+(:[^/:,]+/[0-9.]+)*(,[^/:,]+/[0-9.]+(:[^/:,]+/[0-9.]+)*)?$`

func (splits) Decode(d *strict.Decoder, n *yaml.Node, path string, dst *load.Job) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		d.FailAt(n, path, "wants %s, got %s", splitsWant, strict.Describe(n))
		return
	}
	reads, writes, both := strings.Cut(n.Value, ",")
	var err error
	if dst.ReadSplit, err = parseSplit(reads); err == nil && both {
		dst.WriteSplit, err = parseSplit(writes)
	} else {
		dst.WriteSplit = slices.Clone(dst.ReadSplit)
	}
	if err != nil {
		d.FailAt(n, path, "%v", err)
	}
}

// parseSplit reads sizes and their percentages.
func parseSplit(s string) ([]load.SizeShare, error) {
	var out []load.SizeShare
	for part := range strings.SplitSeq(s, ":") {
		bytes, share, ok := strings.Cut(part, "/")
		if !ok {
			return nil, fmt.Errorf("wants %s, got %s", splitsWant, strict.Short(s))
		}
		n, err := size.Parse(bytes)
		if err != nil {
			return nil, err
		}
		if n < 1 || n > maxBlock {
			return nil, fmt.Errorf("%s is out of range: wants %s to %s", bytes, size.Format(1), size.Format(maxBlock))
		}
		if strings.ContainsFunc(share, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }) {
			return nil, fmt.Errorf("%s is not a percentage: wants %s", strict.Short(share), splitsWant)
		}
		p, err := strconv.ParseFloat(share, 64)
		if err != nil || !(p > 0 && p <= 100) {
			return nil, fmt.Errorf("%s is not a percentage over 0 and up to 100: wants %s", strict.Short(share), splitsWant)
		}
		if slices.ContainsFunc(out, func(e load.SizeShare) bool { return e.Size == n }) {
			return nil, fmt.Errorf("%s is given twice", size.Format(n))
		}
		out = append(out, load.SizeShare{Size: n, Percent: p})
	}
	return out, nil
}

func (splits) Encode(src *load.Job) *yaml.Node {
	reads, writes := formatSplit(src.ReadSplit), formatSplit(src.WriteSplit)
	switch {
	case reads == "" && writes == "":
		return nil
	case reads == "" || reads == writes:
		return strict.Text(writes)
	case writes == "":
		return strict.Text(reads)
	}
	return strict.Text(reads + "," + writes)
}

func formatSplit(all []load.SizeShare) string {
	var parts []string
	for _, e := range all {
		parts = append(parts, size.Format(e.Size)+"/"+strconv.FormatFloat(e.Percent, 'f', -1, 64))
	}
	return strings.Join(parts, ":")
}

func (splits) Schema(bool) strict.Object {
	return strict.Object{"type": "string", "pattern": splitsPattern}
}

// zeros is the boolean zero_buffers, which sets the data that is written (load.Job.Data).
func zeros() strict.Scalar[string] {
	b := strict.Boolean()
	return strict.Scalar[string]{
		Want: b.Want,
		Parse: func(n *yaml.Node) (string, error) {
			v, err := b.Parse(n)
			if !v {
				return "", err
			}
			return load.DataZero, nil
		},
		Format: func(v string) *yaml.Node { return b.Format(v == load.DataZero) },
		JSON:   b.JSON,
	}
}

// verify is fio's verify, with a single kind of checksum.
func verify() strict.Scalar[bool] {
	c := strict.Choice("crc32c")
	return strict.Scalar[bool]{
		Want: c.Want,
		Parse: func(n *yaml.Node) (bool, error) {
			v, err := c.Parse(n)
			return v != "", err
		},
		Format: func(v bool) *yaml.Node {
			if !v {
				return nil
			}
			return strict.Text("crc32c")
		},
		JSON: c.JSON,
	}
}

// steadyState is a section that is left out if there is no steady state.
type steadyState struct{}

func (steadyState) section() strict.Section[workload.SteadyState] {
	return strict.Section[workload.SteadyState]{What: "a steady state", Fields: []strict.Field[workload.SteadyState]{
		strict.Must(strict.Key("round", "Length of a round, of which five are judged together.", strict.Duration(leastRound, maxTime), func(s *workload.SteadyState) *time.Duration { return &s.Round })),
	}}
}

// leastRound is the period of the CPU controller: the figure of a shorter round depends on where in the period it falls.
const leastRound = 100 * time.Millisecond

func (s steadyState) Decode(d *strict.Decoder, n *yaml.Node, path string, dst *workload.SteadyState) {
	s.section().Decode(d, n, path, dst)
}

func (s steadyState) Encode(src *workload.SteadyState) *yaml.Node {
	if src.Round == 0 {
		return nil
	}
	return s.section().Encode(src)
}

func (s steadyState) Schema(partial bool) strict.Object { return s.section().Schema(partial) }
