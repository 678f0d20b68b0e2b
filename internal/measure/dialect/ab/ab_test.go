package ab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/dialect/dialecttest"
	"plimsoll/internal/measure/httpload"
	"plimsoll/internal/testkit/fuzztest"
	"plimsoll/internal/testkit/golden"
)

func TestParseRefuses(t *testing.T) {
	const u = " http://127.0.0.1:1/"
	var sheet golden.Sheet
	for _, line := range []string{
		"",
		"-n 10",
		"-n",
		"-n x" + u,
		"-n0" + u,
		"-c 5 -n 3" + u,
		"-c 20001 -n 30000" + u,
		"-Q" + u,
		"-n 5 -kQ" + u,
		"--requests 5" + u,
		"-X a:b" + u,
		"-P a:b" + u,
		"-X a:1 https://h/",
		u + " -n 5",
		u + u,
		"http://127.0.0.1:1",
		"ftp://x/",
		"http:///",
		"http://a:b@127.0.0.1/",
		"http://127.0.0.1:99999/",
		"http://127.0.0.1:0/",
		"-p a -u b" + u,
		"-i -p a" + u,
		"-m PUT -u a" + u,
		"-A u" + u,
		"-H bad" + u,
		"-h",
	} {
		_, err := Parse(strings.Fields(line))
		var usage *dialect.UsageError
		if !errors.As(err, &usage) {
			t.Errorf("%s: %v, want a UsageError", line, err)
		}
		sheet.Add(line, err)
	}
	sheet.Check(t, "refused.txt")
	for _, args := range [][]string{{"-H", "A: b\r\nEvil: c", "http://x/"}, {"-C", "a\nb", "http://x/"}, {"-m", "GET /x", "http://x/"}, {"http://x/a b"}, {"-T", "a\x00", "http://x/"}} {
		if _, err := Parse(args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

func TestParse(t *testing.T) {
	got, err := Parse(strings.Fields("-kn25 -c5 -C a=1 -C b=2 -t 3 -n 60 https://[::1]:8443/x?y=1#z"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Test{
		Requests: 60, Concurrency: 5, Limit: 3, Timeout: 30, ContentType: "text/plain", KeepAlive: true, Cookies: []string{"a=1", "b=2"},
		TLS: true, Host: "::1", Path: "/x?y=1", Port: 8443,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got, err = Parse(strings.Fields("-n 10 -t 3 127.0.0.1/"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Requests != 50000 || got.Port != 80 || got.hostPort() != "127.0.0.1" {
		t.Errorf("%d requests to %s, port %d; want 50000 to 127.0.0.1, port 80", got.Requests, got.hostPort(), got.Port)
	}
}

// threeTimes has times that ab's arithmetic and ours must agree on by hand: 3 requests, whose median is the mean
// of the second and the third.
var threeTimes = []httpload.Timing{
	{Start: 1795246154000000, Connect: 400, Wait: 1600, Total: 2000},
	{Start: 1795246154100000, Connect: 0, Wait: 900, Total: 3500},
	{Start: 1795246155000000, Connect: 1500, Wait: 5000, Total: 10499},
}

func TestReport(t *testing.T) {
	test, err := Parse(strings.Fields("-n 4 -c 2 -k http://127.0.0.1:8000/"))
	if err != nil {
		t.Fatal(err)
	}
	r := &tally{Tally: httpload.Tally{Timings: threeTimes, Server: "x/1", Length: 17473, Connect: 1, WrongLength: 2, NotSuccess: 1, KeptAlive: 3, Read: 465475, Body: 436825, Elapsed: 855 * time.Millisecond}}
	want := `

Server Software:        x/1
Server Hostname:        127.0.0.1
Server Port:            8000

Document Path:          /
Document Length:        17473 bytes

Concurrency Level:      2
Time taken for tests:   0.855 seconds
Complete requests:      3
Failed requests:        3
   (Connect: 1, Receive: 0, Length: 2, Exceptions: 0)
Non-2xx responses:      1
Keep-Alive requests:    3
Total transferred:      465475 bytes
HTML transferred:       436825 bytes
Requests per second:    3.51 [#/sec] (mean)
Time per request:       570.000 [ms] (mean)
Time per request:       285.000 [ms] (mean, across all concurrent requests)
Transfer rate:          531.66 [Kbytes/sec] received

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    1   0.8      1       2
Processing:     2    5   3.8      6       9
Waiting:        1    3   2.2      3       5
Total:          2    5   4.5      7      10

Percentage of the requests served within a certain time (ms)
  50%      4
  66%      4
  75%     10
  80%     10
  90%     10
  95%     10
  98%     10
  99%     10
 100%     10 (longest request)
`
	if diff := cmp.Diff(want, test.report(r)); diff != "" {
		t.Error(diff)
	}
}

func TestPercentages(t *testing.T) {
	var all []httpload.Timing
	for i := range 200 {
		all = append(all, httpload.Timing{Total: int64(200-i) * 1000})
	}
	got := (&Test{}).times(all)
	want := "  50%    101\n  66%    133\n  75%    151\n  80%    161\n  90%    181\n  95%    191\n  98%    197\n  99%    199\n 100%    200 (longest request)\n"
	if !strings.HasSuffix(got, want) {
		t.Error(got)
	}
}

func TestDoubts(t *testing.T) {
	for _, c := range []struct {
		s    spread
		want string
	}{
		{spread{mean: 5000, median: 5000}, ""},
		{spread{mean: 5000, median: 6000, deviation: 1000}, ""},
		{spread{mean: 5000, median: 7000, deviation: 1500}, "WARNING: The median and mean for it are not within a normal deviation\n        These results are probably not that reliable.\n"},
		{spread{mean: 5000, median: 9000, deviation: 1500}, "ERROR: The median and mean for it are more than twice the standard\n       deviation apart. These results are NOT reliable.\n"},
	} {
		if got := doubt("it", c.s); got != c.want {
			t.Errorf("%+v: %q", c.s, got)
		}
	}
}

func TestFiles(t *testing.T) {
	got := csv(threeTimes)
	lines := strings.Split(got, "\n")
	if len(lines) != 103 {
		t.Fatalf("%d lines, want 103: %q", len(lines), got)
	}
	for i, want := range map[int]string{0: "Percentage served,Time in ms", 1: "0,2.000", 17: "16,2.000", 18: "17,3.500", 51: "50,10.499", 101: "100,10.499"} {
		if lines[i] != want {
			t.Errorf("line %d is %q, want %q", i, lines[i], want)
		}
	}
	lines = strings.Split(gnuplot([]httpload.Timing{threeTimes[2], threeTimes[0]}), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines, want 4: %q", len(lines), lines)
	}
	if lines[0] != "starttime\tseconds\tctime\tdtime\tttime\twait" {
		t.Errorf("the heading is %q", lines[0])
	}
	for i, want := range []string{1: "\t1795246154\t0\t2\t2\t2", 2: "\t1795246155\t2\t9\t10\t5"} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("line %d is %q, want %q at its end", i, lines[i], want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"-n 1000 -c 10 -k http://127.0.0.1:8080/", "-kn25 -C a=1 -H X:y -A u:p https://[::1]/x?y", "-t 5 -e a.csv -g b -p post -T a/b localhost/", "-v 4 -i -q -S -d -l -r -s 9 -m X h/"} {
		f.Add(s)
	}
	f.Fuzz(tryLine)
}

// TestHostileLines: what is much too long is answered too, in bounds.
func TestHostileLines(t *testing.T) {
	for _, hostile := range []string{strings.Repeat("-C a=b ", 1<<15), "-" + strings.Repeat("k", 1<<18), "-H a:" + strings.Repeat("b", 1<<20)} {
		tryLine(t, hostile+" http://h/"+strings.Repeat("x/", 1<<16))
	}
}

// tryLine parses a line within bounds, and makes its request.
func tryLine(t *testing.T, line string) {
	fuzztest.Bounded(t, line, func() {
		test, err := Parse(strings.Fields(line))
		if err != nil {
			dialecttest.Usage(t, err)
			return
		}
		r := test.request([]byte("body"))
		head, _, ok := bytes.Cut(r, []byte("\r\n\r\n"))
		if !ok || bytes.Contains(bytes.ReplaceAll(head, []byte("\r\n"), nil), []byte("\n")) || !strings.HasPrefix(string(head), test.method()+" /") {
			t.Errorf("%q sends %q", line, r)
		}
	})
}

const manual = "../../../../docs/reference/ab.md"

// TestDocsListTheOptions compares the table of the manual with the parser's.
func TestDocsListTheOptions(t *testing.T) {
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	var same []string
	table := "| option | here |\n|---|---|\n"
	for _, o := range Options {
		name := "-" + string(o.Letter)
		if o.Value != "" {
			name += " " + o.Value
		}
		note := o.Note
		if o.Refused {
			note = "refused: " + note
		}
		if note == sameAsAB {
			same = append(same, "`"+name+"`")
		} else {
			table += fmt.Sprintf("| `%s` | %s |\n", name, note)
		}
	}
	if want := "As in ab's manual: " + strings.Join(same, ", ") + ".\n\n" + table; !strings.Contains(string(text), want) {
		t.Errorf("%s has no such table; it should be:\n%s", manual, want)
	}
}
