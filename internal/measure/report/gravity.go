package report

import (
	"encoding/json"
	"math"

	"plimsoll/internal/measure/record"
)

// degrees lists the figures of evidence that show how bad a warning is: key, divided by the figure per if there is one.
// less is set if a smaller value is worse. The first entry that the evidence has counts. The keys are those of package
// check.
var degrees = []struct {
	key, per string
	less     bool
}{
	{key: "foreign", per: "device"},
	{key: "flush_share"},
	{key: "steal"},
	{key: "others"},
	{key: "io_some"},
	{key: "cpu_wait"},
	{key: "factor"},
	{key: "missed", per: "arrivals"},
	{key: "iops", per: "ceiling"},
	{key: "skew_ns", per: "elapsed_ns"},
	{key: "ops", less: true},
	{key: "device", per: "app", less: true},
	{key: "trend"},
	{key: "change"},
	{key: "range"},
	{key: "cv"},
	{key: "resident"},
	{key: "unwritten", per: "extents"},
}

// degree orders warnings of one kind: a greater value is worse. It is -Inf where the evidence has no such figure; the
// first warning counts then.
func degree(w record.Warning) float64 {
	unknown := math.Inf(-1)
	if len(w.Evidence) == 0 {
		return unknown
	}
	var e map[string]any
	if json.Unmarshal(w.Evidence, &e) != nil {
		return unknown // Evidence with other keys.
	}
	for _, g := range degrees {
		v, ok := e[g.key].(float64)
		if !ok {
			continue
		}
		if g.per != "" {
			per, ok := e[g.per].(float64)
			if !ok || per == 0 {
				continue
			}
			v /= per
		}
		if g.less {
			return -v
		}
		return math.Abs(v)
	}
	return unknown
}
