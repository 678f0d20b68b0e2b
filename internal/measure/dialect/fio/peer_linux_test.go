package fio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// peer runs fio itself in dir. CI installs it (scripts/setup test).
func peer(t *testing.T, dir string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("fio")
	if err != nil {
		t.Fatalf("%v: run scripts/setup test", err)
	}
	c := exec.Command(path, args...)
	c.Dir = dir
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("fio %s: %v\n%s%s", args, err, out, stderr.Bytes())
	}
	return string(out)
}

// shapes are jobs that differ in what their output has.
var shapes = map[string][]string{
	"randread":       {"--name=a", "--rw=randread", "--size=1m", "--time_based", "--runtime=1700ms", "--description=some words"},
	"fdatasync":      {"--name=w", "--rw=write", "--bs=8k", "--size=1m", "--fdatasync=4"},
	"randrw":         {"--name=m", "--rw=randrw", "--rwmixread=70", "--size=2m", "--ioengine=libaio", "--iodepth=8", "--disable_slat=1"},
	"groups":         {"--size=1m", "--bs=16k", "--name=one", "--rw=read", "--name=two", "--stonewall", "--rw=write", "--name=three", "--new_group", "--rw=randread"},
	"numjobs":        {"--name=n", "--rw=randread", "--size=400k", "--numjobs=3"},
	"grouped":        {"--name=n", "--rw=randwrite", "--size=400k", "--numjobs=3", "--group_reporting", "--thread"},
	"one rate":       {"--name=r", "--rw=randrw", "--size=4m", "--rate_iops=,400", "--time_based", "--runtime=1200ms"},
	"rate":           {"--name=r", "--rw=randrw", "--size=4m", "--rate_iops=400", "--time_based", "--runtime=1200ms"},
	"null":           {"--name=z", "--ioengine=null", "--rw=randread", "--size=64m"},
	"trims":          {"--name=t", "--ioengine=null", "--rw=randtrim", "--size=64m"},
	"percentiles":    {"--name=p", "--ioengine=null", "--rw=write", "--size=16m", "--percentile_list=50:99.9:99.999", "--lat_percentiles=1"},
	"no percentiles": {"--name=p", "--rw=write", "--size=1m", "--clat_percentiles=0", "--end_fsync=1"},
	"steady":         {"--name=s", "--ioengine=null", "--rw=randread", "--size=1g", "--time_based", "--runtime=20", "--rate_iops=1000", "--steadystate=iops:50%", "--ss_dur=2"},
	"slope":          {"--name=s", "--ioengine=null", "--rw=randread", "--size=1g", "--time_based", "--runtime=3", "--rate_iops=1000", "--steadystate=bw_slope:0.0000001%", "--ss_dur=2"},
	"sizes":          {"--name=b", "--rw=randwrite", "--bssplit=4k/50:16k/50", "--size=1m", "--fsync=8"},
	"mixed":          {"--name=u", "--rw=randrw", "--bs=4k", "--size=1m", "--unified_rw_reporting=1", "--fsync=8"},
	"both":           {"--name=u", "--rw=randrw", "--bs=4k", "--size=1m", "--unified_rw_reporting=both"},
	"verify":         {"--name=v", "--rw=randwrite", "--bs=4k", "--size=1m", "--verify=crc32c"},
}

// Every key that fio 3.33 writes is there with the same type, no other is, and the options have the
// same values.
func TestJSONHasFiosKeys(t *testing.T) {
	t.Parallel()
	for name, args := range shapes {
		formats := []string{"json+"}
		if name == "randrw" || name == "no percentiles" {
			formats = []string{"json", "json+"}
		}
		for _, format := range formats {
			t.Run(name+"/"+format, func(t *testing.T) {
				t.Parallel()
				args := append([]string{"--output-format=" + format}, args...)
				theirs, ours := map[string]string{}, map[string]string{}
				fios, own := peer(t, t.TempDir(), args...), run(t, t.TempDir(), args...)
				keys(t, fios, theirs)
				keys(t, own, ours)
				if last := `">=64" : `; strings.Contains(fios, last) && !strings.Contains(own, last) {
					t.Errorf("ours has no %s, which is fio's text", last)
				}
				// A rate has response times, under keys that fio doesn't have.
				rated := slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--rate") && !strings.Contains(a, "=,") })
				if own := takeOwn(ours); (len(own) > 0) != rated {
					t.Errorf("keys of Plimsoll's own: %v", own)
				}
				if ours["/disk_util"] == "" {
					// Disks are listed here only if they did anything, which the cache may prevent.
					maps.DeleteFunc(theirs, func(k, _ string) bool { return strings.HasPrefix(k, "/disk_util") })
				}
				for k, kind := range theirs {
					if ours[k] != kind {
						t.Errorf("fio has %s (%s), ours is %q", k, kind, ours[k])
					}
				}
				for k, kind := range ours {
					if theirs[k] == "" {
						t.Errorf("fio has no %s (%s)", k, kind)
					}
				}
			})
		}
	}
}

// takeOwn takes the keys of an open loop out.
func takeOwn(keys map[string]string) (own []string) {
	maps.DeleteFunc(keys, func(k, _ string) bool {
		is := strings.Contains(k, "/open_loop") || strings.Contains(k, "/response_ns") || strings.Contains(k, "/offered_")
		if is {
			own = append(own, k)
		}
		return is
	})
	return own
}

// keys collects the paths of all values in a JSON text with their kinds. Elements of lists are one, so are
// the buckets of a histogram.
func keys(t *testing.T, text string, out map[string]string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			out[path] = "object"
			for k, e := range v {
				switch {
				case strings.HasSuffix(path, "/bins"):
					k = "N"
				case strings.HasSuffix(path, " options"):
					k += "=" + fmt.Sprint(e)
				}
				walk(path+"/"+k, e)
			}
		case []any:
			out[path] = "list"
			for i, e := range v {
				at := fmt.Sprint(path, "/", i)
				if !strings.HasSuffix(path, "/jobs") {
					at = path + "/*"
				}
				walk(at, e)
			}
		case json.Number:
			out[path] = "integer"
			if strings.ContainsAny(v.String(), ".e") {
				out[path] = "fraction"
			}
		default:
			out[path] = fmt.Sprintf("%T", v)
		}
	}
	walk("", root)
}

var (
	aNumber = regexp.MustCompile(`[0-9]+(\.[0-9]+)?[kMG]?`)
	aSize   = regexp.MustCompile(`[0-9]+(\.[0-9]+)?([KMGTk]i?)?B`)
	aTime   = regexp.MustCompile(`\((nsec|usec|msec)\)`)
	blanks  = regexp.MustCompile(` +`)
)

// shape is a text without its figures: numbers are N, units of size and time are one, the tables of percentiles and
// of latencies are a line each, since how many lines they have depends on the figures.
func shape(text string) []string {
	// Disks are listed here only if they did anything, which a short job that the cache serves may not cause.
	text, _, _ = strings.Cut(text, "\nDisk stats (read/write):\n")
	text, _, _ = strings.Cut(text, openLoopHead)
	var out []string
	for _, l := range strings.Split(text, "\n") {
		switch {
		case strings.Contains(l, "Laying out IO file"), strings.HasPrefix(l, "fio-3"):
			continue
		case strings.HasPrefix(l, "     |"):
			l = "     | percentiles"
		case strings.HasPrefix(l, "  lat ("):
			l = "  lat (T) : shares"
		case strings.Contains(l, ": pid="):
			l, _, _ = strings.Cut(l, ": pid=")
			l = aNumber.ReplaceAllString(l, "N")
		case strings.HasPrefix(l, "  cpu "), strings.HasPrefix(l, "     submit"), strings.HasPrefix(l, "     complete"), strings.HasPrefix(l, "     issued"):
			l = aNumber.ReplaceAllString(l, "N")
		default:
			l = aSize.ReplaceAllString(l, "S")
			l = aNumber.ReplaceAllString(l, "N")
			l = aTime.ReplaceAllString(l, "(T)")
			l = strings.NewReplacer("MiB/s)", "B/s)", "KiB/s)", "B/s)", "=-", "=", "attained=yes", "attained=no").Replace(l)
			l = strings.ReplaceAll(strings.TrimRight(blanks.ReplaceAllString(l, " "), " "), "= ", "=")
		}
		if len(out) == 0 || out[len(out)-1] != l {
			out = append(out, l)
		}
	}
	return out
}

func TestTextHasFiosLines(t *testing.T) {
	t.Parallel()
	for name, args := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			theirs, ours := shape(peer(t, t.TempDir(), args...)), shape(run(t, t.TempDir(), args...))
			for i, l := range theirs {
				// fio 3.33 adds up the numbers of the mixed line and may leave out their unit.
				theirs[i] = strings.Replace(l, "mixed: IOPS=N, BW=N (N)", "mixed: IOPS=N, BW=S/s (S/s)", 1)
			}
			if !slices.Contains(args, "--time_based") {
				// A job of half a second and more has samples; whether it takes that long is chance.
				sampled := func(l string) bool { return strings.HasPrefix(l, " bw (") || strings.HasPrefix(l, " iops :") }
				theirs, ours = slices.DeleteFunc(theirs, sampled), slices.DeleteFunc(ours, sampled)
			}
			if !slices.Equal(theirs, ours) {
				t.Errorf("fio:\n%s\nours:\n%s", strings.Join(theirs, "\n"), strings.Join(ours, "\n"))
			}
		})
	}
}

// The terse output has fio's fields in all of its versions: as many, in the same places, of the same kind.
func TestTerseHasFiosFields(t *testing.T) {
	t.Parallel()
	kind := func(field string) string {
		if i := strings.IndexByte(field, '='); i >= 0 {
			return field[:i] + "=N"
		}
		return aNumber.ReplaceAllString(field, "N")
	}
	fields := func(text string) (out []string) {
		for _, f := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' }) {
			out = append(out, kind(f))
		}
		return out
	}
	job := []string{"--name=a", "--rw=randrw", "--size=64m", "--ioengine=null", "--percentile_list=50:99.9"}
	for name, args := range map[string][]string{
		"minimal": {"--minimal"}, "version 2": {"--output-format=terse", "--terse-version=2"}, "version 4": {"--minimal", "--terse-version=4"},
		"version 5": {"--output-format=terse", "--terse-version=5"}, "described": {"--minimal", "--description=words"},
		"two jobs": {"--minimal", "--name=b", "--stonewall", "--size=1m", "--rw=write", "--ioengine=null"},
	} {
		theirs, ours := fields(peer(t, t.TempDir(), append(slices.Clone(job), args...)...)), fields(run(t, t.TempDir(), append(slices.Clone(job), args...)...))
		for i := range ours {
			ours[i] = strings.TrimSuffix(ours[i], "-plimsoll")
		}
		if !slices.Equal(theirs, ours) {
			t.Errorf("%s: fio prints %d fields\n%q\nours %d\n%q", name, len(theirs), theirs, len(ours), ours)
		}
	}
}
