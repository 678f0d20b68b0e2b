// Command reruns prints which tests passed or failed in a second try. It fails if one of them is on the list of tests that
// may not have one. Such a test finds leftovers, or a run that ended with a fault: that isn't noise of a busy machine,
// and a second try may hide it.
//
//	go run ./scripts/reruns -refuse .ci/may-not-rerun -log out/test.json out/rerun-test.txt
//
// The list holds one regular expression a line, matched against "package.TestName" from the beginning to the end. After the word
// "says" it is matched against each line that a failed test printed. # begins a comment. The report is that of gotestsum's
// --rerun-fails-report, with a line "package.TestName: 2 runs, 1 failures" for each test; there is none if no test failed.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"plimsoll/scripts/internal/testlist"
)

func main() {
	refuse := flag.String("refuse", "", "file that lists the tests that may not have a second try")
	log := flag.String("log", "", "log of go test -json, with the words of the failed tests")
	flag.Parse()
	if err := run(*refuse, *log, flag.Args(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "reruns:", err)
		os.Exit(1)
	}
}

func run(refuse, log string, reports []string, out io.Writer) error {
	if len(reports) != 1 || refuse == "" || log == "" {
		return errors.New("-refuse LIST, -log LOG and one report are needed")
	}
	names, words, err := readRefused(refuse)
	if err != nil {
		return err
	}
	tests, err := readReport(reports[0])
	if err != nil || len(tests) == 0 {
		return err
	}
	said, err := readFailures(log)
	if err != nil {
		return err
	}
	bad := 0
	for _, t := range tests {
		verdict := "noise"
		if line, ok := find(words, said[t]); ok {
			verdict = "MAY NOT PASS BY A SECOND TRY: it said: " + line
		} else if names.Matches(t) {
			verdict = "MAY NOT PASS BY A SECOND TRY"
		}
		if verdict != "noise" {
			bad++
		}
		fmt.Fprintf(out, "%s: %s\n", t, verdict)
	}
	if bad > 0 {
		return fmt.Errorf("%d tests needed a second try that may have none", bad)
	}
	return nil
}

// readRefused reads the list: the names of tests, and the texts that they print.
func readRefused(path string) (names, words testlist.List, err error) {
	lines, err := testlist.Lines(path)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range lines {
		to, text := &names, l.Text
		if rest, ok := strings.CutPrefix(text, "says "); ok {
			to, text = &words, strings.TrimSpace(rest)
		}
		if err := to.Add(l.Where, text); err != nil {
			return nil, nil, err
		}
	}
	return names, words, nil
}

// readReport reads the names of the tests that ran again.
func readReport(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var tests []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		i := strings.LastIndex(line, ": ")
		if i < 0 {
			return nil, fmt.Errorf("%s: not a line of a report of second tries: %.60q", path, line)
		}
		tests = append(tests, line[:i])
	}
	return tests, nil
}

// readFailures reads the lines that failed tests printed, by "package.TestName", from a log of go test -json (go doc test2json).
func readFailures(path string) (map[string][]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	failed, open := map[string][]string{}, map[string][]string{}
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var e struct{ Action, Package, Test, Output string }
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("not a line of go test -json: %.60q", s.Text())
		}
		name := e.Package + "." + e.Test
		switch e.Action {
		case "output":
			open[name] = append(open[name], strings.TrimSpace(e.Output))
		case "fail":
			failed[name] = append(failed[name], open[name]...)
			delete(open, name)
		case "pass", "skip":
			delete(open, name)
		}
	}
	return failed, s.Err()
}

// find returns the first line that is on the list.
func find(list testlist.List, lines []string) (string, bool) {
	for _, l := range lines {
		if list.Matches(l) {
			return l, true
		}
	}
	return "", false
}
