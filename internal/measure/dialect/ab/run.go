package ab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"plimsoll/internal/conf/userfile"
	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/httpload"
	"plimsoll/internal/text/size"
)

// maxBody bounds what is sent with -p and -u, in bytes.
const maxBody = 64 << 20

// A Requester is a dialect.Session that can send requests from somewhere else than this process.
type Requester interface {
	// Requests sends them and returns the results, together with an error if they ended early.
	Requests(ctx context.Context, spec httpload.Spec) (*httpload.Tally, error)
}

// Run sends the requests and prints ab's report on stdout: from this process if the session is nil, otherwise from
// the session, which must be a Requester. When ctx ends, the report covers the requests done until then, as in ab,
// and the error is ctx's.
func (t *Test) Run(ctx context.Context, session dialect.Session, stdout, stderr io.Writer) error {
	if err := t.refuseSharedOutputs(); err != nil {
		return err
	}
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
		return errors.Join(err, closeFile(csvFile, csv, nil))
	}
	r, err := t.measure(ctx, session, body, stdout, stderr)
	return errors.Join(err, closeFile(csvFile, csv, r.Timings), closeFile(plotFile, gnuplot, r.Timings))
}

// measure sends the requests and prints the report.
func (t *Test) measure(ctx context.Context, session dialect.Session, body []byte, stdout, stderr io.Writer) (*tally, error) {
	spec, beat := t.spec(body), t.beat()
	// This comes before ab's first line, whose end stays open until the requests are done.
	dialect.Note(stderr, "closed loop: a connection asks again when it has its answer; a stall of the server is in at most %d of the times (-c)", t.Concurrency)
	fmt.Fprint(stdout, t.heading(beat))
	if t.Verbosity >= 2 {
		fmt.Fprintf(stdout, "INFO: %s header == \n---\n%s\n---\n", t.method(), spec.Request)
	}
	r, err := t.ask(ctx, session, spec, beat, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stdout)
		if n := len(r.Timings); n > 0 {
			fmt.Fprintf(stdout, "Total of %d requests completed\n", n)
		}
		return r, err
	}
	if beat > 0 {
		fmt.Fprintf(stderr, "Finished %d requests\n", len(r.Timings))
	} else {
		fmt.Fprintln(stdout, "..done")
	}
	if t.HTML {
		fmt.Fprint(stdout, t.reportHTML(r))
	} else {
		fmt.Fprint(stdout, t.report(r))
	}
	t.noteDropped(stderr, r)
	noteInFlight(stderr, r)
	return r, ctx.Err()
}

// noteDropped reports the connections that the server did not accept at once.
func (t *Test) noteDropped(stderr io.Writer, r *tally) {
	if n := r.SentAgain + r.Waiting; n > 0 {
		rest := ""
		if r.Waiting > 0 {
			rest = fmt.Sprintf("; %d of them never connected, so fewer than %d requests ran at a time", r.Waiting, t.Concurrency)
		}
		dialect.Note(stderr, "the first packet (SYN) of %d connections was dropped, and is sent again after a second: the server's queue of new connections (its listen backlog) is shorter than -c %d needs%s", n, t.Concurrency, rest)
	}
}

// noteInFlight reports requests in flight at the end of -t that took longer than all requests in ab's report.
func noteInFlight(stderr io.Writer, r *tally) {
	longest := func(all httpload.Timings) (most int64) {
		for _, t := range all {
			most = max(most, t.Total)
		}
		return most
	}
	if most := longest(r.InFlight); most > longest(r.Timings) {
		rest := ""
		if r.Unanswered > 0 {
			rest = fmt.Sprintf("; %d of them had no answer by then (-s)", r.Unanswered)
		}
		dialect.Note(stderr, "%d more requests were in flight at the end of -t, which ab leaves out: the longest took %s, longer than all in the report%s",
			len(r.InFlight), size.Duration(time.Duration(most)*time.Microsecond), rest)
	}
}

// spec is the requests; the server's name is not looked up yet.
func (t *Test) spec(body []byte) httpload.Spec {
	return httpload.Spec{
		Address: t.dialAddress(), Request: t.request(body), Requests: t.Requests, Concurrency: t.Concurrency,
		Limit: time.Duration(t.Limit) * time.Second, Timeout: time.Duration(t.Timeout) * time.Second,
		KeepAlive: t.KeepAlive, HeadOnly: t.Head, AnyLength: t.AnyLength, GoOn: t.GoOn,
	}
}

// ask sends the requests, here or in the session. The tally is never nil.
func (t *Test) ask(ctx context.Context, session dialect.Session, spec httpload.Spec, beat int, stdout, stderr io.Writer) (*tally, error) {
	if session != nil {
		far, ok := session.(Requester)
		switch {
		case !ok:
			return new(tally), errors.New("requests can't be made there")
		case len(spec.Request) > maxFarBody:
			return new(tally), dialect.Usagef(t.PostFile+t.PutFile, "more than 8 MiB can't be sent from a container")
		}
		all, err := far.Requests(ctx, spec)
		if all == nil {
			all = new(httpload.Tally)
		}
		return &tally{Tally: *all}, err
	}
	c := &httpload.Client{Spec: spec}
	var secret *security
	if t.TLS {
		secret = newSecurity(t.Host, !t.NoServerName)
		c.Secure = secret.handshake
	}
	if beat > 0 {
		c.OnDone = func(n int) {
			if n%beat == 0 {
				fmt.Fprintf(stderr, "Completed %d requests\n", n)
			}
		}
	}
	if t.Verbosity >= 2 {
		c.OnAnswer = func(head []byte, status string) { t.tell(stdout, head, status) }
	}
	all, err := c.Run(ctx)
	r := &tally{Tally: *all}
	if secret != nil {
		r.tls = secret.info
	}
	return r, err
}

// tell prints the output of -v.
func (t *Test) tell(stdout io.Writer, head []byte, status string) {
	fmt.Fprintf(stdout, "LOG: header received:\n%s\n", head)
	switch {
	case status == "" || status[0] != '2':
		fmt.Fprintf(stdout, "WARNING: Response code not 2xx (%s)\n", status)
	case t.Verbosity >= 3:
		fmt.Fprintf(stdout, "LOG: Response code = %s\n", status)
	}
}

// beat is the number of requests between ab's progress lines: a tenth, at least 100, for more than 150 requests. 0:
// none.
func (t *Test) beat() int {
	if t.Quiet || t.Requests <= 150 {
		return 0
	}
	return max(t.Requests/10, 100)
}

// body reads the file of -p or -u.
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

// refuseSharedOutputs refuses outputs that are the same file, or the file to send.
func (t *Test) refuseSharedOutputs() error {
	list := func(options ...dialect.File) (all []dialect.File) {
		for _, f := range options {
			if f.Name != "" {
				all = append(all, dialect.File{Option: f.Option + " " + f.Name, Name: f.Name})
			}
		}
		return all
	}
	outputs := list(dialect.File{Option: "-e", Name: t.CSVFile}, dialect.File{Option: "-g", Name: t.GnuplotFile})
	return dialect.Apart(outputs, list(dialect.File{Option: "-p", Name: t.PostFile}, dialect.File{Option: "-u", Name: t.PutFile}))
}

// create creates a file, nil without a name.
func create(ctx context.Context, name string) (io.WriteCloser, error) {
	if name == "" {
		return nil, nil
	}
	return userfile.Create(ctx, name)
}

// closeFile writes the text of the timings, if there are any, and closes the file. Without a file it skips the text,
// which takes long for many requests.
func closeFile(f io.WriteCloser, text func([]httpload.Timing) string, timings []httpload.Timing) error {
	if f == nil {
		return nil
	}
	var err error
	if len(timings) > 0 {
		_, err = io.WriteString(f, text(timings))
	}
	return errors.Join(err, f.Close())
}
