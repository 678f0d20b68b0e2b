package fio

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/fio.md and the golden files anew")

const manual = "../../../docs/fio.md"

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
		if !*update {
			t.Errorf("the table of %s in %s is not that of the code: go test ./internal/dialect/fio -run Manual -update", name, manual)
		}
		text = before + begin + table + end + after
	}
	if *update {
		if err := os.WriteFile(manual, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func optionTable() string {
	var w strings.Builder
	w.WriteString("| option | support | here |\n| --- | --- | --- |\n")
	for _, o := range Options {
		names := "`" + strings.Join(append([]string{o.Name}, o.Aliases...), "`, `") + "`"
		text := o.Text
		if len(o.Off) > 0 {
			text += " (allowed: " + strings.Join(o.Off, ", ") + ")"
		}
		fmt.Fprintf(&w, "| %s | %s | %s |\n", names, o.Support, text)
	}
	return w.String()
}

func commandTable() string {
	var w strings.Builder
	w.WriteString("| option | here |\n| --- | --- |\n")
	for _, n := range slices.Sorted(maps.Keys(commands)) {
		fmt.Fprintf(&w, "| `--%s` | %s |\n", n, commands[n].text)
	}
	return w.String()
}

// No option of the installed fio is unknown: each is supported, or refused with its reason.
func TestTableHasAllOptionsOfFio(t *testing.T) {
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
		if o.Text == "" || strings.Contains(o.Text, "|") || (o.set == nil) != (o.Support == Refused) || len(o.Off) > 0 && o.Support != Refused {
			t.Errorf("%+v", o)
		}
	}
}
