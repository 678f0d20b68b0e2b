package ab

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/testkit/texttest"
)

// run runs a line and returns what it prints.
func run(t *testing.T, ctx context.Context, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	test, err := Parse(args)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	var out, errs bytes.Buffer
	err = test.Run(ctx, nil, &out, &errs)
	return out.String(), errs.String(), err
}

// realAB runs ApacheBench.
func realAB(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	path, err := exec.LookPath("ab")
	if err != nil {
		t.Skip("needs ab, of apache2-utils")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("ab %v: %v: %s", args, err, errs.String())
	}
	return out.String(), errs.String()
}

// lines of the report that hold times. All others must be ab's to the digit.
var (
	timed    = regexp.MustCompile(`(?m)^(Time taken|Requests per|Time per|Transfer rate|  +[0-9.]+ kb/s|Connect:|Processing:|Waiting:|Total:|  ?[0-9]+%|<tr.*(Time taken for tests|Requests per second|Connect|Processing|Total):</th>|<tr.* kb/s ).*$`)
	figure   = regexp.MustCompile(` *[0-9]+(\.[0-9]+)?`)
	revision = regexp.MustCompile(`\$Revision[^$]*\$`)
	doubts   = regexp.MustCompile(`(?m)^(WARNING: The|ERROR: The) .*\n.*\n`)
)

// comparable leaves out what differs from run to run.
func comparable(s string) string {
	s = doubts.ReplaceAllString(revision.ReplaceAllString(s, "REVISION"), "")
	return timed.ReplaceAllStringFunc(s, func(l string) string {
		if i := strings.Index(l, "%"); i >= 0 {
			return l[:i] + figure.ReplaceAllString(l[i:], " N")
		}
		return figure.ReplaceAllString(l, " N")
	})
}

// TestReportIsABs compares the reports of the same requests.
func TestReportIsABs(t *testing.T) {
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, []byte("hello=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ options, path string }{
		{"-n 20 -c 4", "/"}, {"-n 20 -c 4 -k", "/"}, {"-n 1", "/x?y=1"}, {"-n 10", "/500"}, {"-n 10", "/var"}, {"-n 10 -l", "/var"}, {"-n 10", "/drop"},
		{"-n 10 -S", "/"}, {"-n 10 -d", "/"}, {"-n 10 -i", "/"}, {"-n 10 -i -k", "/"}, {"-n 10 -T a/b -p " + body, "/"}, {"-n 10 -k -u " + body, "/"},
		{"-n 400 -c 2 -k", "/"}, {"-n 400 -q -k", "/"}, {"-n 3 -v 2 -k", "/500"},
		{"-n 20 -c 4 -w", "/"}, {"-n 20 -k -w", "/500"}, {"-n 10 -w -l", "/var"}, {"-n 10 -w", "/var"}, {"-n 10 -w -p " + body, "/"},
		{"-n 10 -x border=1 -y class=a -z class=b", "/"}, {"-n 200 -w -k", "/"},
	} {
		t.Run(c.options+c.path, func(t *testing.T) {
			s := serve(t, plain)
			args := append(strings.Fields(c.options), s.url(c.path))
			want, wantErr := realAB(t, args...)
			sent := s.seen()
			got, gotErr, err := run(t, context.Background(), args...)
			if err != nil {
				t.Fatal(err)
			}
			want, got = comparable(want), comparable(got)
			if c.options == "-n 3 -v 2 -k" {
				// ab prints with the head what has come of the body, without a mark.
				want = regexp.MustCompile("x{50,}\n").ReplaceAllString(want, "\n")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(sent, s.seen()); diff != "" {
				t.Errorf("requests:\n%s", diff)
			}
			label, rest, _ := strings.Cut(gotErr, "\n")
			if rest != wantErr || !strings.HasPrefix(label, "plimsoll: closed loop: ") {
				t.Errorf("standard error has %q, ab's %q", gotErr, wantErr)
			}
		})
	}
}

// TestRequestsAreABs compares every byte that is sent.
func TestRequestsAreABs(t *testing.T) {
	s := serve(t, plain)
	for _, args := range [][]string{
		{}, {"-k"}, {"-i"}, {"-m", "DELETE"}, {"-C", "a=1"}, {"-A", "user:pass"}, {"-k", "-C", "a=1", "-A", "u:p", "-H", "X-A:1", "-H", "X-B: 2"},
		{"-H", "Host: foo", "-H", "user-agent: z", "-H", "Accept: q"},
	} {
		args = append(args, s.url("/x?y=1&z"))
		realAB(t, args...)
		want := s.seen()
		if _, _, err := run(t, context.Background(), args...); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.seen()); diff != "" || len(want) != 1 {
			t.Errorf("%v:\n%s", args, diff)
		}
	}
	// A proxy gets the whole address, and is where the connection goes.
	for _, more := range [][]string{nil, {"-P", "u:p"}, {"-k", "-A", "a:b", "-P", "u:p"}} {
		args := append([]string{"-X", s.listener.Addr().String(), "-n", "2"}, append(more, "http://example.test:81/x?y=1")...)
		want, _ := realAB(t, args...)
		sent := s.seen()
		got, _, err := run(t, context.Background(), args...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sent, s.seen()); diff != "" || len(sent) != 2 {
			t.Errorf("%v:\n%s", args, diff)
		}
		if diff := cmp.Diff(comparable(want), comparable(got)); diff != "" {
			t.Errorf("%v:\n%s", args, diff)
		}
	}
	if _, _, err := run(t, context.Background(), "-C", "a=1", "-C", "b=2", s.url("/")); err != nil || !strings.Contains(s.seen()[0], "\r\nCookie: a=1; b=2\r\n") {
		t.Errorf("several cookies: %v", err)
	}
}

// TestFilesAreABs compares the files of -e and -g, but for the times in them.
func TestFilesAreABs(t *testing.T) {
	s := serve(t, plain)
	dir := t.TempDir()
	args := func(who string) []string {
		return []string{"-n", "30", "-c", "3", "-e", filepath.Join(dir, who+".csv"), "-g", filepath.Join(dir, who+".tsv"), s.url("/")}
	}
	realAB(t, args("ab")...)
	if _, _, err := run(t, context.Background(), args("we")...); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	date := regexp.MustCompile(`(?m)^[A-Z][a-z]{2} [A-Z][a-z]{2} \d{2} \d{2}:\d{2}:\d{2} \d{4}\t\d{10}(\t\d+){4}$`)
	if diff := cmp.Diff(date.ReplaceAllString(read("ab.tsv"), "LINE"), date.ReplaceAllString(read("we.tsv"), "LINE")); diff != "" {
		t.Error(diff)
	}
	cell := regexp.MustCompile(`(?m),\d+\.\d{3}$`)
	if diff := cmp.Diff(cell.ReplaceAllString(read("ab.csv"), ",N"), cell.ReplaceAllString(read("we.csv"), ",N")); diff != "" {
		t.Error(diff)
	}
}

// measured runs a line and returns the tally behind the report.
func measured(t *testing.T, args ...string) (*tally, error) {
	t.Helper()
	test, err := Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	return test.measure(context.Background(), nil, nil, io.Discard, io.Discard)
}

// TestTimesAreThoseOfTheSocket: the server waits 30 ms in the head and 60 ms before the body, both after
// the first byte.
func TestTimesAreThoseOfTheSocket(t *testing.T) {
	s := serve(t, plain)
	r, err := measured(t, "-n", "3", s.url("/slow"))
	if err != nil || len(r.Timings) != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, x := range r.Timings {
		// A client that learns late of bytes that it sent or got sees a shorter wait; the total has all of it.
		if x.Processing()-x.Wait < 45_000 || x.Total < 90_000 {
			t.Errorf("%+v, want 45 ms behind the first byte, and 90 in all", x)
		}
		if x.Connect > x.Total {
			t.Errorf("%+v: the connection took longer than all", x)
		}
		if x.Start < time.Now().Add(-time.Minute).UnixMicro() {
			t.Errorf("%+v began more than a minute ago", x)
		}
	}
	// And 50 ms before the first byte.
	s = serve(t, func(w net.Conn, request string, n int) bool {
		time.Sleep(50 * time.Millisecond)
		return plain(w, request, n)
	})
	r, err = measured(t, "-n", "2", "-k", s.url("/"))
	if err != nil || len(r.Timings) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, x := range r.Timings {
		if x.Wait < 25_000 || x.Total < 50_000 {
			t.Errorf("%+v, want a wait of 25 ms, and 50 in all", x)
		}
		if i > 0 && x.Connect != 0 {
			t.Errorf("%+v, want no connection of its own", x)
		}
	}
}

// TestConcurrencyIsKept: no more than -c requests are in flight, and all of them are when the server waits for
// them. The first is alone until it is answered, as ab's is.
func TestConcurrencyIsKept(t *testing.T) {
	arrived, leave := make(chan struct{}, 100), make(chan struct{})
	var first sync.Once
	s := serve(t, func(w net.Conn, request string, n int) bool {
		alone := false
		first.Do(func() {
			time.Sleep(20 * time.Millisecond)
			if alone = true; len(arrived) > 0 {
				t.Errorf("%d requests beside the first", len(arrived))
			}
		})
		if !alone {
			arrived <- struct{}{}
			<-leave
		}
		return plain(w, request, n)
	})
	done := make(chan error, 1)
	go func() {
		test, err := Parse([]string{"-n", "12", "-c", "4", "-k", s.url("/")})
		if err == nil {
			err = test.Run(context.Background(), nil, io.Discard, io.Discard)
		}
		done <- err
	}()
	for range 4 {
		<-arrived
	}
	time.Sleep(20 * time.Millisecond)
	if n := len(arrived); n != 0 {
		t.Errorf("%d more than 4 requests in flight", n)
	}
	close(leave)
	if err := <-done; err != nil || len(s.seen()) != 12 {
		t.Error(err)
	}
}

// TestIdleConnectionsMayClose: a server that closes a kept connection after some requests loses none.
func TestIdleConnectionsMayClose(t *testing.T) {
	s := serve(t, func(w net.Conn, request string, n int) bool {
		return plain(w, request, n) && n%3 != 0
	})
	r, err := measured(t, "-n", "20", "-k", s.url("/"))
	if err != nil {
		t.Fatal(err)
	}
	got := [...]int{len(r.Timings), r.Failed(), r.KeptAlive, len(s.seen())}
	if want := [...]int{20, 0, 20, 20}; got != want {
		t.Errorf("timings, failed, kept alive and requests are %d, want %d", got, want)
	}
}

// TestConnectIncludesTLS: the server takes 50 ms for the handshake, which are no part of the waiting.
func TestConnectIncludesTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		time.Sleep(50 * time.Millisecond)
		return nil, nil
	}}
	s.StartTLS()
	defer s.Close()
	r, err := measured(t, "-n", "2", s.URL+"/")
	if err != nil || len(r.Timings) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, x := range r.Timings {
		if x.Connect < 50_000 || x.Connect+x.Wait > x.Total+2 {
			t.Errorf("%+v", x)
		}
	}
}

// TestTLS compares the lines on TLS with ab's.
func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer s.Close()
	url := strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + "/"
	lines := regexp.MustCompile(`(?m)^(SSL/TLS Protocol|Server Temp Key|TLS Server Name|Document Length): .*$`)
	var named atomic.Int32
	s.TLS.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		if h.ServerName != "" {
			named.Add(1)
		}
		return nil, nil
	}
	if got, _, err := run(t, context.Background(), "-n", "4", "-I", url); err != nil || named.Load() != 0 || strings.Contains(got, "TLS Server Name") {
		t.Errorf("-I: the server is told its name %d times, %v:\n%s", named.Load(), err, got)
	}
	want, _ := realAB(t, "-n", "4", "-k", url)
	got, _, err := run(t, context.Background(), "-n", "4", "-k", url)
	if err != nil || named.Load() != 2 {
		t.Fatal(named.Load(), err)
	}
	// The suite is the client's choice.
	suite := regexp.MustCompile(`TLS_AES_\d+_GCM_SHA\d+,(\d+),\d+|TLS_CHACHA20_POLY1305_SHA256,(\d+),\d+`)
	norm := func(s string) string {
		return strings.Join(lines.FindAllString(suite.ReplaceAllString(s, "SUITE,$1$2"), -1), "\n")
	}
	if diff := cmp.Diff(norm(want), norm(got)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(got, "Keep-Alive requests:    4\n") {
		t.Error(got)
	}
}

// TestLabelIsBeforeTheReport: on a terminal, where both streams meet, what Plimsoll says of the closed loop does not cut one of ab's lines
// in two, as it did behind "(be patient)...".
func TestLabelIsBeforeTheReport(t *testing.T) {
	s := serve(t, plain)
	test, err := Parse([]string{"-n", "2", s.url("/")})
	if err != nil {
		t.Fatal(err)
	}
	var both bytes.Buffer
	if err := test.Run(context.Background(), nil, &both, &both); err != nil {
		t.Fatal(err)
	}
	label, rest, _ := strings.Cut(both.String(), "\n")
	if !strings.HasPrefix(label, "plimsoll: closed loop: ") {
		t.Errorf("the first line is %q", label)
	}
	if !strings.HasPrefix(rest, banner) {
		t.Errorf("after the label there is no banner:\n%s", rest)
	}
	texttest.Has(t, rest, []string{"(be patient)..."})
	texttest.Lacks(t, rest, []string{"plimsoll"})
}
