package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"plimsoll/internal/limit/policy"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/report"
	"plimsoll/internal/testkit/texttest"
)

// manual lists the README and the pages of docs/ and its folders.
func manual(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	return append(pages, "../../README.md")
}

// TestManualLinks follows every link of the manual to a file, and to a heading where it names one.
func TestManualLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^):#]*)(?:#([^)]*))?\)`)
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	strange := regexp.MustCompile(`[^a-z0-9 _-]`)
	for _, page := range append(manual(t), "../../CONTRIBUTING.md", "../../CHANGELOG.md") {
		b, err := os.ReadFile(page)
		mustDo(t, err)
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			to := page
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(page), m[1])
			}
			text, err := os.ReadFile(to)
			if err != nil {
				t.Errorf("%s: %s: %v", page, m[0], err)
				continue
			}
			found := m[2] == ""
			for _, h := range heading.FindAllStringSubmatch(string(text), -1) {
				found = found || strings.ReplaceAll(strange.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == m[2]
			}
			if !found {
				t.Errorf("%s: %s leads to no heading", page, m[0])
			}
		}
	}
}

// TestManualPlans parses every whole plan of the manual.
func TestManualPlans(t *testing.T) {
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	n := 0
	for _, page := range manual(t) {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(b), -1) {
			if !strings.Contains(m[1], "workloads:") || !strings.Contains(m[1], "engines:") {
				continue // A part of a plan; docs/reference/plan.md's own test reads those.
			}
			n++
			if _, err := plan.Parse(page, []byte(m[1])); err != nil {
				t.Errorf("%v\n%s", err, m[1])
			}
		}
	}
	if n == 0 {
		t.Error("the manual shows no plan")
	}
}

// TestManualPolicies parses every policy of the manual.
func TestManualPolicies(t *testing.T) {
	n := 0
	for _, page := range manual(t) {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?s)```yaml\n(rules:.*?)```").FindAllStringSubmatch(string(b), -1) {
			n++
			if p, err := policy.Parse(page, []byte(m[1])); err != nil || len(p.Rules) == 0 {
				t.Errorf("%v\n%s", err, m[1])
			}
		}
	}
	if n == 0 {
		t.Error("the manual shows no policy")
	}
}

// TestManualCommands holds every command line of the manual, and every example
// of the help, to commands and flags that there are.
func TestManualCommands(t *testing.T) {
	line := regexp.MustCompile(`(?m)^\s*(?:\$ |bin/)?plimsoll ([a-z].*)$`)
	check := func(where, text string) int {
		n := 0
		for _, m := range line.FindAllStringSubmatch(text, -1) {
			// Text after two spaces explains; brackets or bars mark a form, not an example.
			command, _, _ := strings.Cut(m[1], "  ")
			command, _, _ = strings.Cut(command, " > ")
			command, _, _ = strings.Cut(command, " #")
			if strings.ContainsAny(command, "[]|…") || strings.Contains(command, "...") {
				continue
			}
			n++
			if err := parses(strings.Fields(strings.ReplaceAll(command, "'", ""))); err != nil {
				t.Errorf("%s: plimsoll %s: %v", where, command, err)
			}
		}
		return n
	}
	n := 0
	for _, page := range manual(t) {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		n += check(page, string(b))
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		n += check(c.CommandPath(), c.Example)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&app{}).rootCommand())
	if n < 20 {
		t.Errorf("only %d command lines were found", n)
	}
}

// parses reports whether a command line names a command and only flags that it has.
func parses(args []string) error {
	c, rest, err := (&app{}).rootCommand().Find(args)
	if err != nil {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if c.HasSubCommands() {
		return needsSubcommand(c, c.Flags().Args())
	}
	return nil
}

// TestReadmeExample: docs/example.txt is what a run prints in the words of today, and the README shows lines of it, in its order.
func TestReadmeExample(t *testing.T) {
	whole, err := os.ReadFile("../../docs/example.txt")
	mustDo(t, err)
	texttest.Has(t, string(whole), []string{report.Question, "A/A control", " interval ", "━━ at a glance", " cells; this is the worst: ",
		"- I/O engine io_uring at 6 of 9 workloads: ", "- plain system calls and no I/O engine at append, wal, tree",
		"Next:   plimsoll run --resume", "host dir, rate", "Repeat: plimsoll run --seed", "All tables: plimsoll report", "half-time: ",
		"━━ the answer", "Best place  compared with host dir", "this machine was too noisy to"})
	b, err := os.ReadFile("../../README.md")
	mustDo(t, err)
	_, rest, _ := strings.Cut(string(b), "<!-- example: begin -->")
	example, _, ok := strings.Cut(rest, "<!-- example: end -->")
	if !ok {
		t.Fatal("the README has no example")
	}
	left := strings.Split(string(whole), "\n")
	for line := range strings.SplitSeq(example, "\n") {
		said, indented := strings.CutPrefix(line, "    ")
		if !indented || strings.HasPrefix(said, "$ ") || said == "..." {
			continue
		}
		i := slices.Index(left, said)
		if i < 0 {
			t.Errorf("docs/example.txt does not have, or not there: %q", said)
			continue
		}
		left = left[i+1:]
	}
}

// TestManualNamesTheControl: the manual calls the second copy of the baseline the A/A control and
// nothing else, but for the stable names that programs read.
func TestManualNamesTheControl(t *testing.T) {
	fine := regexp.MustCompile("`[^`]*control[^`]*`|A/A controls?|(?i)control (?:groups?|characters?|codes?)")
	other := regexp.MustCompile(`A/A|(?i)\b(?:the|its|each|that|a) controls?\b|\(control\)`)
	for _, page := range append(manual(t), "../../internal/measure/stats/METHOD.md") {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := fine.ReplaceAllString(strings.Join(strings.Fields(string(b)), " "), "")
		for _, m := range other.FindAllStringIndex(text, -1) {
			t.Errorf("%s: another name for the A/A control: %q", page, text[max(0, m[0]-40):min(len(text), m[1]+20)])
		}
	}
	if b, err := os.ReadFile("../../docs/reference/plan.md"); err != nil || !strings.Contains(string(b), "`#control` for the A/A control") {
		t.Errorf("docs/reference/plan.md does not tell what #control means (%v)", err)
	}
}
