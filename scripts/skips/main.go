// Command skips prints which tests a `go test -json` log skipped and why. It fails if one of them is not on the list of tests that
// may skip.
//
//	go run ./scripts/skips -allow .ci/may-skip out/test.json
//
// The list holds one regular expression a line, matched against
// "package.TestName" from the beginning to the end; # begins a comment.
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
	allow := flag.String("allow", "", "file that lists the tests that may skip")
	flag.Parse()
	if err := run(*allow, flag.Args(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(1)
	}
}

func run(allow string, logs []string, out io.Writer) error {
	if len(logs) != 1 {
		return errors.New("one log is needed")
	}
	if allow == "" {
		return errors.New("-allow is needed: the file that lists the tests that may skip")
	}
	may, err := readAllowed(allow)
	if err != nil {
		return err
	}
	f, err := os.Open(logs[0])
	if err != nil {
		return err
	}
	defer f.Close()
	skips, err := readSkips(f)
	if err != nil {
		return err
	}
	if len(skips) == 0 {
		fmt.Fprintln(out, "none")
	}
	bad := 0
	for _, s := range skips {
		verdict := "may skip"
		if !may.Matches(s.name) {
			verdict = "MAY NOT SKIP HERE"
			bad++
		}
		fmt.Fprintf(out, "%s: %s: %s\n", s.name, verdict, s.reason)
	}
	if bad > 0 {
		return fmt.Errorf("%d tests skipped that may not", bad)
	}
	return nil
}

// A skip is a test that did not run.
type skip struct {
	name, reason string
}

// readSkips reads the log of go test -json (go doc test2json).
func readSkips(r io.Reader) ([]skip, error) {
	var skips []skip
	said := map[string]string{}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var e struct{ Action, Package, Test, Output string }
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("not a line of go test -json: %.60q", s.Text())
		}
		if e.Test == "" {
			continue
		}
		name := e.Package + "." + e.Test
		switch e.Action {
		case "output":
			if line := strings.TrimSpace(e.Output); !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
				said[name] = line
			}
		case "skip":
			skips = append(skips, skip{name, said[name]})
		}
	}
	return skips, s.Err()
}

// readAllowed reads the list of the tests that may skip.
func readAllowed(path string) (testlist.List, error) {
	lines, err := testlist.Lines(path)
	if err != nil {
		return nil, err
	}
	var may testlist.List
	for _, l := range lines {
		if err := may.Add(l.Where, l.Text); err != nil {
			return nil, err
		}
	}
	return may, nil
}
