package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
)

// checkSame refuses two names for the same cell. A report would tell them apart by noise alone.
func checkSame(d *strict.Decoder, p *Plan) {
	same(d, "workloads", p.Workloads, func(w workload.Spec) (string, string) { return w.Name, written(canonical(w)) })
	same(d, "places", p.Places, func(s place.Spec) (string, string) {
		name := s.Name
		s.Name = ""
		if s.Kind == place.Volume && s.Driver == "" {
			s.Driver = "local"
		}
		opts := slices.Sorted(maps.Keys(s.DriverOpts))
		for i, k := range opts {
			opts[i] = strconv.Quote(k) + strconv.Quote(s.DriverOpts[k])
		}
		s.DriverOpts = nil
		return name, settings(s) + strings.Join(opts, ",")
	})
	same(d, "limits", p.Limits, func(l limit.Limits) (string, string) { name := l.Name; l.Name = ""; return name, settings(l) })
	names, specs := map[string]bool{}, map[EngineSpec]string{}
	for i, e := range p.Engines {
		at, bare := strict.Join("engines", strconv.Itoa(i)), e
		bare.Name = ""
		switch other, twin := specs[bare]; {
		case names[e.Name]:
			d.Fail(at, "the engine %s is given twice", e.Name)
		case twin:
			d.Fail(at, "%s and %s are two names for the same engine: their cells would be the same", other, e.Name)
		}
		names[e.Name], specs[bare] = true, e.Name
	}
	clients := map[int]bool{}
	for i, n := range p.Clients {
		if clients[n] {
			d.Fail(strict.Join("clients", strconv.Itoa(i)), "%d is given twice", n)
		}
		clients[n] = true
	}
}

// same adds a fault for each entry with the same settings as an earlier one.
func same[T any](d *strict.Decoder, path string, list []T, split func(T) (name, settings string)) {
	first := map[string]string{}
	for _, v := range list {
		name, settings := split(v)
		if other, twin := first[settings]; twin {
			d.Fail(strict.Join(path, name), "%s and %s are two names for the same thing: their cells would be the same", other, name)
			continue
		}
		first[settings] = name
	}
}

// settings prints all fields of v, for comparing.
func settings[T any](v T) string { return fmt.Sprintf("%#v", v) }

// written prints a workload as the worker gets it, for comparing: pointers as their values.
func written(w workload.Spec) string {
	b, err := json.Marshal(w)
	if err != nil {
		panic("plan: a workload can't be written: " + err.Error())
	}
	return string(b)
}

// canonical is a workload as the worker will run it, without its name, and without settings that only repeat a default.
func canonical(w workload.Spec) workload.Spec {
	w.Name = ""
	w = w.WithDefaults()
	j := &w.Job
	if j.PercentageRandom != nil && *j.PercentageRandom == 100 {
		j.PercentageRandom = nil
	}
	if j.Loops == 1 {
		j.Loops = 0
	}
	if j.ThinkTimeBlocks == 1 {
		j.ThinkTimeBlocks = 0
	}
	return w
}
