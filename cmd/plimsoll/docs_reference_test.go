package main

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/internal/doctor"
	"plimsoll/internal/measure/durability"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/planfile"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/results"
	"plimsoll/internal/measure/selfcheck"
	"plimsoll/internal/measure/share"
	"plimsoll/internal/provide/profile"
)

// TestManualHasFlags: commands.md has every command, and a page of the manual every flag of it. The flags of other tools have tests
// of their own.
func TestManualHasFlags(t *testing.T) {
	var all strings.Builder
	for _, page := range manual(t) {
		b, err := os.ReadFile(page)
		mustDo(t, err)
		all.Write(b)
	}
	b, err := os.ReadFile("../../docs/reference/commands.md")
	mustDo(t, err)
	rows := regexp.MustCompile("`plimsoll ([a-z][^`]*)`").FindAllStringSubmatch(string(b), -1)
	listed := func(path []string) bool {
		for _, row := range rows {
			words := strings.Fields(strings.ReplaceAll(row[1], `\|`, "|"))
			for i, alternatives := range words {
				for word := range strings.SplitSeq(alternatives, "|") {
					if i == len(path)-1 && word == path[i] {
						return true
					}
				}
				if i >= len(path)-1 || alternatives != path[i] {
					break
				}
			}
		}
		return false
	}
	n := 0
	var walk func(*cobra.Command, []string)
	walk = func(c *cobra.Command, path []string) {
		if c.Runnable() && !c.HasSubCommands() && c.Name() != "powershell" && !listed(path) {
			t.Errorf("docs/reference/commands.md lacks plimsoll %s", strings.Join(path, " "))
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			n++
			// cobra's own flags.
			if f.Hidden || f.Name == "help" || f.Name == "no-descriptions" {
				return
			}
			if !regexp.MustCompile("--" + f.Name + "([^a-z-]|$)").MatchString(all.String()) {
				t.Errorf("no page of the manual has --%s of %s", f.Name, c.CommandPath())
			}
		})
		for _, sub := range c.Commands() {
			if sub.Name() != "help" {
				walk(sub, append(path[:len(path):len(path)], sub.Name()))
			}
		}
	}
	walk((&app{}).rootCommand(), nil)
	if n < 50 {
		t.Errorf("only %d flags were found", n)
	}
}

// TestManualCommandsInline holds the commands within the text and the tables of the manual to commands and flags that exist.
func TestManualCommandsInline(t *testing.T) {
	inline := regexp.MustCompile("`plimsoll ([a-z][^`\n]*)`")
	n := 0
	for _, page := range manual(t) {
		b, err := os.ReadFile(page)
		mustDo(t, err)
		for _, m := range inline.FindAllStringSubmatch(string(b), -1) {
			// Brackets, bars or an ellipsis mark a form, not an example.
			if strings.ContainsAny(m[1], "[]|…") || strings.Contains(m[1], "...") {
				continue
			}
			if m[1] == "help exit-codes" {
				continue // A topic; TestHelpTopics has it.
			}
			n++
			if err := parses(strings.Fields(strings.ReplaceAll(m[1], "'", ""))); err != nil {
				t.Errorf("%s: plimsoll %s: %v", page, m[1], err)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d commands were found", n)
	}
}

// TestManualHasJSON: a page has every key of the JSON of its command. Other tests have that of the commands of limits, of watch, of
// reports and of exports.
func TestManualHasJSON(t *testing.T) {
	for page, types := range map[string][]reflect.Type{
		"doctor.md":    {reflect.TypeFor[doctor.Report](), reflect.TypeFor[doctor.Leftover]()},
		"verify.md":    {reflect.TypeFor[durability.Report]()},
		"selfcheck.md": {reflect.TypeFor[selfcheck.Figure]()},
		"plan.md":      {reflect.TypeFor[plan.Checked](), reflect.TypeFor[planfile.BuiltIn]()},
		"profile.md":   {reflect.TypeFor[profile.Profile](), reflect.TypeFor[profile.Report](), reflect.TypeFor[aProfile]()},
		"results.md":   {reflect.TypeFor[results.Row](), reflect.TypeFor[results.Removal](), reflect.TypeFor[share.Finding]()},
	} {
		b, err := os.ReadFile("../../docs/reference/" + page)
		mustDo(t, err)
		var visit func(reflect.Type)
		visit = func(typ reflect.Type) {
			for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
				typ = typ.Elem()
			}
			// The machine's keys are those of every record.
			if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() || typ == reflect.TypeFor[record.Machine]() {
				return
			}
			for i := range typ.NumField() {
				f := typ.Field(i)
				if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key != "-" {
					if !strings.Contains(string(b), "`"+key+"`") {
						t.Errorf("docs/reference/%s lacks the key %q of %s", page, key, typ)
					}
					visit(f.Type)
				}
			}
		}
		for _, typ := range types {
			visit(typ)
		}
	}
}
