package ab

import (
	"strconv"
	"strings"

	"plimsoll/internal/measure/dialect"
)

// An Option is one that ab knows. The list is the source of docs/reference/ab.md.
type Option struct {
	// Letter is the option: 'n' for -n.
	Letter byte
	// Value is what it takes; "" for a switch.
	Value string
	// Note says what it does here, or why it is refused.
	Note string
	// Refused is set for what ab knows and Plimsoll doesn't.
	Refused bool

	set func(t *Test, arg, value string) error
}

// sameAsAB is the note of an option that does what ab's manual says.
const sameAsAB = "as in ab"

// Limits of a command line. ab has the second (MAX_CONCURRENCY); the first bounds the memory for the figures of all
// requests, 32 bytes each.
const (
	maxRequests    = 20_000_000
	maxConcurrency = 20_000
	maxSeconds     = 7 * 24 * 3600
	// timedRequests is what -t implies.
	timedRequests = 50_000
)

// flag makes the setter of a switch.
func flag(at func(*Test) *bool) func(*Test, string, string) error {
	return func(t *Test, _, _ string) error { *at(t) = true; return nil }
}

// text makes the setter of a word that goes into a header or names a file.
func text(at func(*Test) *string) func(*Test, string, string) error {
	return func(t *Test, arg, v string) error {
		if v == "" || strings.ContainsFunc(v, control) {
			return dialect.Usagef(arg, "must be text without control characters")
		}
		*at(t) = v
		return nil
	}
}

// control reports whether a character must not be in a line of a request.
func control(r rune) bool { return r < ' ' || r == 0x7f }

// whole makes the setter of a number.
func whole(at func(*Test) *int, least, most int) func(*Test, string, string) error {
	return func(t *Test, arg, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < least || n > most {
			return dialect.Usagef(arg, "must be a whole number from %d to %d", least, most)
		}
		*at(t) = n
		return nil
	}
}

// html makes the setter of HTML attributes, which also turns on -w.
func html(at func(*Test) *string) func(*Test, string, string) error {
	return func(t *Test, arg, v string) error {
		t.HTML = true
		if strings.ContainsFunc(v, control) {
			return dialect.Usagef(arg, "must be text without control characters")
		}
		*at(t) = v
		return nil
	}
}

// proxy sets the proxy's address.
func proxy(t *Test, arg, v string) error {
	host, port, ok := strings.Cut(v, ":")
	n, err := uint64(80), error(nil)
	if ok {
		n, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil || n == 0 || host == "" || strings.ContainsFunc(v, func(r rune) bool { return control(r) || r == ' ' || r == '/' }) {
		return dialect.Usagef(arg, "must be a host and a port, as in -X 127.0.0.1:3128")
	}
	t.ProxyHost, t.ProxyPort = host, int(n)
	return nil
}

// Options are ab's, in the order of its help.
var Options = []Option{
	{Letter: 'n', Value: "requests", Note: sameAsAB, set: whole(func(t *Test) *int { return &t.Requests }, 1, maxRequests)},
	{Letter: 'c', Value: "concurrency", Note: sameAsAB, set: whole(func(t *Test) *int { return &t.Concurrency }, 1, maxConcurrency)},
	{Letter: 't', Value: "timelimit", Note: sameAsAB, set: func(t *Test, arg, v string) error {
		if err := whole(func(t *Test) *int { return &t.Limit }, 1, maxSeconds)(t, arg, v); err != nil {
			return err
		}
		t.Requests = timedRequests
		return nil
	}},
	{Letter: 's', Value: "timeout", Note: sameAsAB, set: whole(func(t *Test) *int { return &t.Timeout }, 1, maxSeconds)},
	{Letter: 'b', Value: "windowsize", Note: "the kernel sizes the buffers of a connection", Refused: true},
	{Letter: 'B', Value: "address", Note: "the kernel chooses the address of a connection", Refused: true},
	{Letter: 'p', Value: "postfile", Note: sameAsAB, set: text(func(t *Test) *string { return &t.PostFile })},
	{Letter: 'u', Value: "putfile", Note: sameAsAB, set: text(func(t *Test) *string { return &t.PutFile })},
	{Letter: 'T', Value: "content-type", Note: sameAsAB, set: text(func(t *Test) *string { return &t.ContentType })},
	{Letter: 'v', Value: "verbosity", Note: sameAsAB, set: whole(func(t *Test) *int { return &t.Verbosity }, 0, 100)},
	{Letter: 'w', Note: sameAsAB, set: flag(func(t *Test) *bool { return &t.HTML })},
	{Letter: 'i', Note: sameAsAB, set: flag(func(t *Test) *bool { return &t.Head })},
	{Letter: 'x', Value: "attributes", Note: sameAsAB, set: html(func(t *Test) *string { return &t.TableAttributes })},
	{Letter: 'y', Value: "attributes", Note: sameAsAB, set: html(func(t *Test) *string { return &t.RowAttributes })},
	{Letter: 'z', Value: "attributes", Note: sameAsAB, set: html(func(t *Test) *string { return &t.CellAttributes })},
	{Letter: 'C', Value: "attribute", Note: "adds a cookie, as in id=5; if repeated, all are sent (ab sends the last)", set: func(t *Test, arg, v string) error {
		t.Cookies = append(t.Cookies, v)
		return text(func(t *Test) *string { return &t.Cookies[len(t.Cookies)-1] })(t, arg, v)
	}},
	{Letter: 'H', Value: "attribute", Note: sameAsAB, set: func(t *Test, arg, v string) error {
		if name, _, ok := strings.Cut(v, ":"); !ok || name == "" || strings.ContainsAny(name, " \t") {
			return dialect.Usagef(arg, "must be a header, as in -H 'Accept-Encoding: gzip'")
		}
		t.Headers = append(t.Headers, v)
		return text(func(t *Test) *string { return &t.Headers[len(t.Headers)-1] })(t, arg, v)
	}},
	{Letter: 'A', Value: "user:password", Note: sameAsAB, set: text(func(t *Test) *string { return &t.Auth })},
	{Letter: 'P', Value: "user:password", Note: sameAsAB, set: text(func(t *Test) *string { return &t.ProxyAuth })},
	{Letter: 'X', Value: "proxy:port", Note: "asks a proxy for the address, which must be http; port 80 if none is given. The times include the proxy", set: proxy},
	{Letter: 'V', Note: "use 'plimsoll version'", Refused: true},
	{Letter: 'k', Note: sameAsAB, set: flag(func(t *Test) *bool { return &t.KeepAlive })},
	{Letter: 'd', Note: sameAsAB, set: flag(func(t *Test) *bool { return &t.NoPercent })},
	{Letter: 'S', Note: sameAsAB, set: flag(func(t *Test) *bool { return &t.NoConfidence })},
	{Letter: 'q', Note: sameAsAB, set: flag(func(t *Test) *bool { return &t.Quiet })},
	{Letter: 'l', Note: sameAsAB, set: flag(func(t *Test) *bool { return &t.AnyLength })},
	{Letter: 'g', Value: "filename", Note: sameAsAB, set: text(func(t *Test) *string { return &t.GnuplotFile })},
	{Letter: 'e', Value: "filename", Note: sameAsAB, set: text(func(t *Test) *string { return &t.CSVFile })},
	{Letter: 'r', Note: sameAsAB, set: flag(func(t *Test) *bool { return &t.GoOn })},
	{Letter: 'm', Value: "method", Note: sameAsAB, set: func(t *Test, arg, v string) error {
		if strings.ContainsFunc(v, func(r rune) bool { return control(r) || r == ' ' || r > 0x7e }) || v == "" {
			return dialect.Usagef(arg, "must be a word, as in -m DELETE")
		}
		t.Method = v
		return nil
	}},
	{Letter: 'h', Note: "use --help", Refused: true},
	{Letter: 'I', Note: sameAsAB, set: flag(func(t *Test) *bool { return &t.NoServerName })},
	{Letter: 'Z', Value: "ciphersuite", Note: "Go chooses among the safe ones", Refused: true},
	{Letter: 'f', Value: "protocol", Note: "TLS 1.2 and 1.3 are spoken", Refused: true},
	{Letter: 'E', Value: "certfile", Note: "client certificates are not supported", Refused: true},
}

// lookUp returns the option of a letter, nil if there is none.
func lookUp(letter byte) *Option {
	for i := range Options {
		if Options[i].Letter == letter {
			return &Options[i]
		}
	}
	return nil
}

// letters are those that are supported.
func letters() string {
	var b strings.Builder
	for _, o := range Options {
		if !o.Refused {
			b.WriteString(" -" + string(o.Letter))
		}
	}
	return b.String()[1:]
}
