package fio

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/testkit/golden"
)

const manual = "../../../../docs/reference/fio.md"

// The tables of the manual are those of the code.
func TestManualHasTheTables(t *testing.T) {
	b, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for name, table := range map[string]string{"options": optionTable(), "commands": commandTable()} {
		begin, end := fmt.Sprintf("<!-- %s -->\n", name), fmt.Sprintf("<!-- end of %s -->\n", name)
		before, rest, ok := strings.Cut(text, begin)
		has, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s has no %q ... %q", manual, begin, end)
		}
		if has == table {
			continue
		}
		if !golden.Updating() {
			t.Errorf("the table of %s in %s is not that of the code: go test ./internal/measure/dialect/fio -run Manual -update", name, manual)
		}
		text = before + begin + table + end + after
	}
	if golden.Updating() {
		if err := os.WriteFile(manual, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// optionTable lists the options that work, then those that are accepted without effect, by their reason, then those that are refused, by
// what is nearest to them.
func optionTable() string {
	yes, same := "| option | here |\n| --- | --- |\n", []string(nil)
	var accepted, refused grouped
	for _, o := range Options {
		names := "`" + strings.Join(append([]string{o.Name}, o.Aliases...), "`, `") + "`"
		switch {
		case o.Text == sameAsFio:
			same = append(same, names)
		case o.Support == Yes:
			yes += fmt.Sprintf("| %s | %s |\n", names, o.Text)
		case o.Support == Accepted:
			accepted.add(o.Text, names)
		default:
			if len(o.Off) > 0 {
				names += " (" + strings.Join(o.Off, ", ") + ")"
			}
			refused.add(nearOr(o.Name), names)
		}
	}
	return "As in fio's manual: " + strings.Join(same, ", ") + ".\n\n" + yes + "\nAccepted without effect:\n\n" + accepted.table("option", "because") + "\nRefused, except for the values in brackets:\n\n" + refused.table("option", "the nearest here")
}

func commandTable() string {
	yes := "| option | here |\n| --- | --- |\n"
	var accepted, refused grouped
	for _, n := range slices.Sorted(maps.Keys(commands)) {
		text, name := commands[n].text, "`--"+n+"`"
		if because, ok := strings.CutPrefix(text, "accepted: "); ok {
			accepted.add(because, name)
		} else if strings.HasPrefix(text, "refused: ") {
			refused.add(nearOr(n), name)
		} else {
			yes += fmt.Sprintf("| %s | %s |\n", name, text)
		}
	}
	return yes + "\nAccepted without effect:\n\n" + accepted.table("option", "because") + "\nRefused:\n\n" + refused.table("option", "the nearest here")
}

// nearOr is what the manual gives as the nearest to a refused option.
func nearOr(name string) string {
	if n := nearest[name]; n != "" {
		return "`" + n + "`"
	}
	return "nothing"
}

// grouped is a table with one row for all names of the same text, in the order of the first of each.
type grouped struct {
	texts []string
	names map[string][]string
}

func (g *grouped) add(text, name string) {
	if g.names == nil {
		g.names = map[string][]string{}
	}
	if g.names[text] == nil {
		g.texts = append(g.texts, text)
	}
	g.names[text] = append(g.names[text], name)
}

func (g *grouped) table(left, right string) string {
	out := fmt.Sprintf("| %s | %s |\n| --- | --- |\n", left, right)
	for _, t := range g.texts {
		out += fmt.Sprintf("| %s | %s |\n", strings.Join(g.names[t], ", "), t)
	}
	return out
}

// No option of the installed fio is unknown: each is supported, or refused with its reason.
func TestTableHasAllOptionsOfFio(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("fio", "--cmdhelp=all").Output()
	if err != nil {
		t.Fatalf("%v: run scripts/setup test", err)
	}
	n := 0
	for _, l := range strings.Split(string(out), "\n") {
		name, _, ok := strings.Cut(l, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			continue
		}
		n++
		if byName[name] == nil {
			t.Errorf("fio has %s", l)
		}
	}
	if n < 200 {
		t.Errorf("fio has %d options only", n)
	}
	for name := range engineOptions(t) {
		if byName[name] == nil {
			t.Errorf("an engine of fio has %s", name)
		}
	}
}

// The other names of an option are those of the installed fio, and it stands alone where it does there.
func TestTableHasFiosAliasesAndBareOptions(t *testing.T) {
	t.Parallel()
	alias := regexp.MustCompile(`(?m)^ *alias: (\S+)$`)
	bare, ofEngines := 0, engineOptions(t)
	for _, o := range Options {
		text, ok := ofEngines[o.Name]
		if !ok {
			text = fioTells(t, "--cmdhelp="+o.Name)
		}
		if !strings.Contains(text, o.Name+":") {
			continue // Of another version.
		}
		for _, m := range alias.FindAllStringSubmatch(text, -1) {
			if byName[m[1]] != byName[o.Name] {
				t.Errorf("%s is %s in fio", m[1], o.Name)
			}
		}
		if is := strings.Contains(text, "type: empty or boolean value"); is != o.Bare {
			t.Errorf("%s: may stand alone in fio: %v, here: %v", o.Name, is, o.Bare)
		} else if is {
			bare++
		}
	}
	if bare < 17 {
		t.Errorf("only %d options may stand alone", bare)
	}
}

// fioTells is what fio itself prints for one option.
func fioTells(t *testing.T, option string) string {
	t.Helper()
	out, err := exec.Command("fio", option).Output()
	if err != nil {
		t.Fatalf("%s: %v: run scripts/setup test", option, err)
	}
	return string(out)
}

// engineOptions are what the installed fio says of the options of the engines that are taken here, by their names: --cmdhelp doesn't
// list them.
func engineOptions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for e := range engines {
		// For an engine without options fio prints so and fails.
		out, err := exec.Command("fio", "--enghelp="+e).Output()
		if err != nil && !strings.Contains(string(out), "has no options") {
			t.Fatalf("%s: %v: run scripts/setup test", e, err)
		}
		for l := range strings.Lines(string(out)) {
			if name, _, ok := strings.Cut(l, " : "); ok {
				name = strings.TrimSpace(name)
				all[name] += fioTells(t, "--enghelp="+e+","+name)
			}
		}
	}
	if len(all) < 16 {
		t.Errorf("fio's engines have %d options only", len(all))
	}
	return all
}

// Engines' options without a value, which fio takes, are taken or refused for what they are; "needs a value" was said of them.
func TestEnginesOptionsStandAlone(t *testing.T) {
	for _, option := range []string{"fixedbufs", "registerfiles", "hipri", "sqthread_poll", "userspace_reap", "bs_unaligned"} {
		for where, args := range map[string][]string{"line": {"--name=x", "--size=1m", "--" + option, "--rw=randread"}, "file": {"x.fio"}} {
			_, err := Parse(args, memory(map[string]string{"x.fio": "[x]\nsize=1m\n" + option + "\n"}, nil))
			if err != nil {
				t.Errorf("%s on a %s: %v", option, where, err)
			}
		}
	}
}

// No option of the installed fio's own line is unknown.
func TestCommandsAreAllOfFio(t *testing.T) {
	out, err := exec.Command("fio", "--help").Output()
	if err != nil {
		t.Fatalf("%v: run scripts/setup test", err)
	}
	n := 0
	for l := range strings.Lines(string(out)) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(l), "--")
		end := strings.IndexAny(rest+" ", "= \t")
		name := rest[:end]
		if !ok || name == "help" { // --help is Plimsoll's
			continue
		}
		n++
		if commands[name].do == nil {
			t.Errorf("fio has %s", strings.TrimSpace(l))
		}
	}
	if n < 30 {
		t.Errorf("fio has %d such options only", n)
	}
}

// The error for a refused option names the nearest replacement, and Plimsoll has it.
func TestRefusalsNameTheNearest(t *testing.T) {
	// Flags of Plimsoll's own; a test of the command knows whether they are there.
	own := []string{"--engine", "--record", "--destructive", "--cpus", "--cpu-shares", "--help"}
	without := []string{"uid", "gid", "ioscheduler", "profile", "thp", "exec_prerun", "exec_postrun", "debug", "cpuclock-test"}
	check := func(name string, args ...string) {
		_, err := Parse(append([]string{"--name=a", "--size=1m"}, args...), Source{})
		if err == nil {
			t.Errorf("%s is taken", name)
			return
		}
		near, text := nearest[name], err.Error()
		if slices.Contains(without, name) {
			if near != "" || !strings.Contains(text, "there is no replacement") {
				t.Errorf("%s: %v", name, err)
			}
			return
		}
		opt := byName[near]
		supported := opt != nil && opt.Support != Refused || slices.Contains(own, near) || slices.Contains(commandNames, strings.TrimPrefix(near, "--"))
		if near == "" || !supported || !strings.Contains(text, near) {
			t.Errorf("%s: %v; it must name %q, which must be supported", name, err, near)
		}
	}
	for _, o := range Options {
		if o.Support == Refused {
			check(o.Name, "--"+o.Name+"=refuse-me")
		}
	}
	for name, c := range commands {
		if strings.HasPrefix(c.text, "refused") {
			args := []string{"--" + name}
			if c.value {
				args[0] += "=x"
			}
			check(name, args...)
		}
	}
	for name := range nearest {
		if o := byName[name]; (o == nil || o.Support != Refused) && !strings.HasPrefix(commands[name].text, "refused") {
			t.Errorf("%s is not refused, but has a nearest", name)
		}
	}
}

func TestTableIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range Options {
		for _, n := range append([]string{o.Name}, o.Aliases...) {
			if seen[n] || commands[n].do != nil {
				t.Errorf("%s is there twice", n)
			}
			seen[n] = true
		}
		if o.Text == "" || strings.Contains(o.Text, "|") {
			t.Errorf("%s: text %q, want one without |", o.Name, o.Text)
		}
		if (o.set == nil) != (o.Support == Refused) {
			t.Errorf("%s is %v, but has a setter: %v", o.Name, o.Support, o.set != nil)
		}
		if len(o.Off) > 0 && o.Support != Refused {
			t.Errorf("%s is %v, but is off with %q", o.Name, o.Support, o.Off)
		}
	}
}
