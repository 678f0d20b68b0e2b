package diskspd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/testkit/golden"
)

const manual = "../../../../docs/reference/diskspd.md"

// table is the manual's list and table of options.
func table() string {
	var same []string
	rows := tableHead
	for _, o := range options {
		forms := strings.Split(o.Form, ", -")
		for i := range forms {
			if i > 0 {
				forms[i] = "-" + forms[i]
			}
			forms[i] = "`" + forms[i] + "`"
		}
		names := strings.Join(forms, ", ")
		switch {
		case o.Text == sameAsDiskSpd:
			same = append(same, names)
		case o.Support == Refused:
			rows += fmt.Sprintf("| %s | refused: %s |\n", strings.ReplaceAll(names, "|", `\|`), o.Text)
		default:
			rows += fmt.Sprintf("| %s | %s |\n", strings.ReplaceAll(names, "|", `\|`), o.Text)
		}
	}
	return "As in DiskSpd: " + strings.Join(same, ", ") + ".\n\n" + rows
}

const tableHead = "| option | here |\n|---|---|\n"

// TestManual: the manual's table is the parser's, and its lines are understood.
func TestManual(t *testing.T) {
	b, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if golden.Updating() {
		before, rest, _ := strings.Cut(text, "As in DiskSpd: ")
		_, rest, _ = strings.Cut(rest, tableHead)
		for strings.HasPrefix(rest, "|") {
			_, rest, _ = strings.Cut(rest, "\n")
		}
		text = before + table() + rest
		if err := os.WriteFile(manual, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(text, table()) {
		t.Error("the table of options is not the parser's; run this test with -update")
	}
	lines := 0
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "plimsoll diskspd ")
		if !ok {
			continue
		}
		lines++
		rest, _, _ = strings.Cut(rest, "   ")
		opt := profileFile("<Profile><TimeSpans><TimeSpan><Targets><Target><Path>*1</Path></Target><Target><Path>*2</Path></Target></Targets></TimeSpan></TimeSpans></Profile>")
		if _, err := Parse(strings.Fields(rest), opt); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if lines < 3 {
		t.Errorf("%d examples", lines)
	}
}

// TestOptionsAreWhatTheTableSays: what the table refuses is refused, and what it takes is taken.
func TestOptionsAreWhatTheTableSays(t *testing.T) {
	values := map[string]string{ // a line for forms whose value isn't a number
		"-?": "-?", "-a[g#,]#[,#,...], -ag": "-ag0,0,1", "-e...": "-eTHREAD", "-f<rst>": "-fr", "-N<vni>": "-Sm -Nv", "-rd<pct|abs>...": "-r -rdpct90/10",
		"-R[p]<text|xml>": "-Rxml", "-S[bhmuw]": "-Suw", "-Sr": "-Sr", "-y...": "-ysx", "-Zr": "-Zr", "-Z": "-Z", "-X<file>": "-Xf",
		"-O<count>": "-F2 -O2", "-i<count>": "-i5 -j5", "-j<milliseconds>": "-i5 -j5", "-T<size>": "-t2 -T64K", "-s[i][<align>]": "-si64K -t2",
		"-g<bytes per ms>, -g<count>i": "-g5i", "-Z<size>,<file>": "-w5 -Z1M,f", "-vs": "-vs", "-v": "-v", "-h": "-h", "-l": "-l", "-L": "-L", "-n": "-n", "-p": "-p", "-x": "-x",
		"-I<1..3>": "-I3", "-w<percent>": "-w5", "-B<base>[:<length>]": "-B1M:1M", "-D[<milliseconds>]": "-D50",
	}
	for _, o := range options {
		line := values[o.Form]
		if line == "" {
			at := strings.IndexAny(o.Form, "<[")
			line = o.Form[:at]
			if slices.Contains([]string{"c", "b", "f", "Z", "r"}, o.prefix) {
				line += "64K"
			} else {
				line += "5"
			}
		}
		args := append(strings.Fields(line), "f")
		if o.prefix == "X" {
			args = args[:1]
		}
		opt := profileFile("<Profile><TimeSpans><TimeSpan><Targets><Target><Path>f</Path></Target></Targets></TimeSpan></TimeSpans></Profile>")
		_, err := Parse(args, opt)
		if (err != nil) != (o.Support == Refused) {
			t.Errorf("%s is %s, but %q gives %v", o.Form, o.Support, args, err)
		}
	}
}

// TestDoubtsAreSaid: the two defaults that mislead are named on stderr, and only where they hold.
func TestDoubtsAreSaid(t *testing.T) {
	for line, want := range map[string][2]bool{"-w5 f": {true, true}, "f": {false, true}, "-w5 -Sh f": {true, false}, "-w5 -Zr -Sh f": {false, false}, "-w5 -Z1M f": {false, true}} {
		test, err := Parse(strings.Fields(line), ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		if err := test.Run(context.Background(), here{}, RunOptions{}, &out, &errs); err == nil || out.Len() > 0 {
			t.Errorf("%q: %v and %q from a session that runs nothing", line, err, out.String())
		}
		got := [2]bool{strings.Contains(errs.String(), "-Zr or -Z<size>"), strings.Contains(errs.String(), "-Sh turns it off")}
		if got != want {
			t.Errorf("%q: pattern and cache are named: %v, want %v", line, got, want)
		}
	}
}
