package ab

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	"plimsoll/internal/dialect"
	"plimsoll/internal/userfile"
)

// maxBody bounds what is sent with -p and -u, in bytes.
const maxBody = 64 << 20

// Run asks the server and prints ab's report on stdout. It needs no session. When ctx ends the report is that of
// the requests done until then, as in ab, and the error is ctx's.
func (t *Test) Run(ctx context.Context, _ dialect.Session, stdout, stderr io.Writer) error {
	body, err := t.body(ctx)
	if err != nil {
		return err
	}
	csvFile, err := create(ctx, t.CSVFile)
	if err != nil {
		return err
	}
	plotFile, err := create(ctx, t.GnuplotFile)
	if err != nil {
		return errors.Join(err, closeFile(csvFile, ""))
	}
	c, err := t.measure(ctx, body, stdout, stderr)
	if len(c.t.timings) > 0 {
		err = errors.Join(err, closeFile(csvFile, csv(c.t.timings)), closeFile(plotFile, gnuplot(c.t.timings)))
	} else {
		err = errors.Join(err, closeFile(csvFile, ""), closeFile(plotFile, ""))
	}
	return err
}

// curves are those that ab's report has names for.
var curves = []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}

// measure makes the requests and prints the report.
func (t *Test) measure(ctx context.Context, body []byte, stdout, stderr io.Writer) (*client, error) {
	c := &client{test: t, request: t.request(body), stdout: stdout, stderr: stderr, beat: t.beat()}
	fmt.Fprint(stdout, banner)
	dots := "..."
	if c.beat > 0 {
		dots = "\n"
	}
	fmt.Fprintf(stdout, "Benchmarking %s (be patient)%s", t.Host, dots)
	if t.Verbosity >= 2 {
		fmt.Fprintf(stdout, "INFO: %s header == \n---\n%s\n---\n", t.method(), c.request)
	}
	var err error
	if c.address, err = t.resolve(ctx); err != nil {
		fmt.Fprintln(stdout)
		return c, err
	}
	if t.TLS {
		// ab doesn't check who answers, nor is it needed to measure.
		c.config = &tls.Config{ServerName: t.Host, InsecureSkipVerify: true, CurvePreferences: curves}
	}
	fmt.Fprintf(stderr, "plimsoll: closed loop: a connection asks again when it has its answer; a stall of the server is in at most %d of the times (-c)\n", t.Concurrency)
	err = c.run(ctx)
	if err != nil {
		fmt.Fprintln(stdout)
		if n := len(c.t.timings); n > 0 {
			fmt.Fprintf(stdout, "Total of %d requests completed\n", n)
		}
		return c, err
	}
	if c.beat > 0 {
		fmt.Fprintf(stderr, "Finished %d requests\n", len(c.t.timings))
	} else {
		fmt.Fprintln(stdout, "..done")
	}
	fmt.Fprint(stdout, t.report(&c.t))
	return c, ctx.Err()
}

// beat is every how many requests ab tells how far it is: a tenth, at least 100, of more than 150. 0:
// never.
func (t *Test) beat() int {
	if t.Quiet || t.Requests <= 150 {
		return 0
	}
	return max(t.Requests/10, 100)
}

// resolve looks the host up once, so that no request waits for names.
func (t *Test) resolve(ctx context.Context) (string, error) {
	if net.ParseIP(t.Host) != nil {
		return t.dialAddress(), nil
	}
	all, err := net.DefaultResolver.LookupHost(ctx, t.Host)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(all[0], strconv.Itoa(t.Port)), nil
}

// body reads what -p or -u name.
func (t *Test) body(ctx context.Context) ([]byte, error) {
	name := t.PostFile + t.PutFile
	if name == "" {
		return nil, nil
	}
	data, err := userfile.Read(ctx, userfile.Named(name), maxBody)
	if err == nil && len(data) > maxBody {
		err = fmt.Errorf("%s: more than 64 MiB can't be sent", name)
	}
	return data, err
}

// create makes a file, nil without a name.
func create(ctx context.Context, name string) (io.WriteCloser, error) {
	if name == "" {
		return nil, nil
	}
	return userfile.Create(ctx, name)
}

// closeFile writes a file's text and closes it.
func closeFile(f io.WriteCloser, text string) error {
	if f == nil {
		return nil
	}
	var err error
	if text != "" {
		_, err = io.WriteString(f, text)
	}
	return errors.Join(err, f.Close())
}
