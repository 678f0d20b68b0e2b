package report

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
)

// TestPageHasEverything: what a reader is promised of the page is on it, cell by cell.
func TestPageHasEverything(t *testing.T) {
	run, trials := everyday()
	for i := range trials {
		w := &trials[i].Where[0]
		w.Path, w.Runtime, w.Storage = "/srv/data", "crun 1.14", "overlay"
	}
	r := built(run, trials)
	page := render(t, "html", Terminal{}, NewSet(r))
	plain := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " "))
	for i, w := range r.Workloads {
		_, part, ok := strings.Cut(page, fmt.Sprintf(`<section id="r0w%d">`, i))
		part, _, closed := strings.Cut(part, "</section>")
		if !ok || !closed {
			t.Fatalf("%s has no section", w.Name)
		}
		part = html.UnescapeString(part)
		for _, c := range w.Cells {
			if c.N == 0 {
				if !strings.Contains(part, c.Label+"</b> FAILED") {
					t.Errorf("%s, %s failed, and the page doesn't say how", w.Name, c.Label)
				}
				continue
			}
			for _, pic := range []string{"latencies of " + c.Label + ":", c.Label + ": rate inside the trials", c.Label + ": the value of each trial by block"} {
				_, svg, ok := strings.Cut(part, "<title>"+pic)
				svg, _, _ = strings.Cut(svg, "</svg>")
				if !ok || !regexp.MustCompile(` d="M[^"]{8,}"`).MatchString(svg) {
					t.Errorf("%s has no picture %q with a curve", w.Name, pic)
				}
			}
			for _, l := range c.Latency {
				if len(l.Buckets) == 0 {
					t.Errorf("%s, %s: no histogram in the data", w.Name, c.Label)
				}
			}
		}
		for _, f := range w.Footnotes {
			if !strings.Contains(part, f.Text) {
				t.Errorf("%s lacks the warning %q", w.Name, f.Text)
			}
		}
	}
	_, facts, _ := strings.Cut(plain, "What the data stood on")
	facts, _, _ = strings.Cut(facts, "The plan")
	m := run.Machine
	for what, words := range map[string][]string{
		"fingerprint": {m.Hostname, m.Kernel, m.CPUModel, "2 CPUs", "8.0 GiB memory", "virtual (kvm)", "cgroup v2", "clock tsc", "plimsoll " + run.Version, "seed 42"},
		"facts":       {"file system", "ext4 rw,relatime", "/dev/vda1", "vda", "64 GiB", "scheduler none", "write back", "vda1 on vda", "/srv/data", "crun 1.14", "overlay", "v2"},
		"plan":        strings.Split(strings.TrimSpace(run.PlanText), "\n"),
		"command":     {run.Command},
	} {
		for _, w := range words {
			if in := map[bool]string{true: facts, false: plain}[what == "facts"]; !strings.Contains(in, w) {
				t.Errorf("the page's %s lack %q", what, w)
			}
		}
	}
	if m := regexp.MustCompile(`(?i)https?:|//[a-z0-9.]+\.[a-z]{2,}/|@import|url\(|<(script|img|link|iframe)[^>]+(src|href)=`).FindString(page); m != "" {
		t.Errorf("the page loads something: %q", m)
	}
}
