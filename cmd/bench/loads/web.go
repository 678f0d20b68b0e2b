package loads

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"

	"plimsoll/cmd/bench/figure"
	"plimsoll/internal/measure/dialect/ab"
)

// webConnections and webRequests describe the closed loop of plimsoll ab and of ab: the number of kept connections, and
// of requests over all of them.
const (
	webConnections = 32
	webRequests    = 50_000
)

// webAnswer is the server's response to each request. It is small, so that the clients are compared and not the
// copying.
var webAnswer = []byte("HTTP/1.1 200 OK\r\nServer: tiny\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello")

// serveWeb answers every request over kept connections, and returns its address. It has no routes and no log, so that
// no client waits for them. done closes it.
func serveWeb() (address string, done func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answer(conn)
		}
	}()
	return l.Addr().String(), func() { l.Close() }, nil
}

// answer answers each head that ends with an empty line.
func answer(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		if len(bytes.TrimRight(line, "\r\n")) > 0 {
			continue
		}
		if _, err := conn.Write(webAnswer); err != nil {
			return
		}
	}
}

// asAB runs the command line after -ab, in its own process as plimsoll ab does.
func asAB(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	t, err := ab.Parse(args)
	if err != nil {
		return err
	}
	return t.Run(ctx, nil, stdout, stderr)
}

// webContest returns the contest of plimsoll ab and ApacheBench, with the same server. Without ab, there is no peer.
func webContest(url string) (*contest, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	line := []string{"-q", "-k", "-c", strconv.Itoa(webConnections), "-n", strconv.Itoa(webRequests), url}
	c := &contest{name: "web", ours: func(ctx context.Context) (reading, error) {
		return measureAB(ctx, self, append([]string{subcommand, "-ab"}, line...))
	}}
	if _, err := exec.LookPath("ab"); err == nil {
		c.peer = func(ctx context.Context) (reading, error) { return measureAB(ctx, "ab", line) }
	}
	return c, nil
}

// perSecond matches the report's own figure, which both programs print in the same form.
var perSecond = regexp.MustCompile(`(?m)^Complete requests: +(\d+)\nFailed requests: +0\n(?:.*\n)*?Requests per second: +([0-9.]+) `)

// measureAB runs a program that prints ab's report.
func measureAB(ctx context.Context, program string, args []string) (r reading, err error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("%s: %w: %s", program, err, errs.String())
	}
	m := perSecond.FindSubmatch(out.Bytes())
	if m == nil || string(m[1]) != strconv.Itoa(webRequests) {
		return r, fmt.Errorf("%s did not do all requests:\n%s", program, out.String())
	}
	if r.iops, err = strconv.ParseFloat(string(m[2]), 64); err != nil {
		return r, err
	}
	s := cmd.ProcessState
	r.cpu = float64(s.UserTime()+s.SystemTime()) / webRequests
	return r, nil
}

// webTable prints the clients' results, which have no goal.
func webTable(stdout io.Writer, c *contest) error {
	fmt.Fprintf(stdout, "\nA closed loop of %d requests over %d kept connections to a server in memory:\n\n", webRequests, webConnections)
	_, err := figure.Table(stdout, "figure", "ab", []figure.Figure{
		c.figure("requests/s", reading.perSecond, figure.Goal{}),
		c.figure("the client's CPU ns per request", reading.perIO, figure.Goal{}),
	})
	return err
}
