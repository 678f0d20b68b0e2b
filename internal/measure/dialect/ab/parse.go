// Package ab is ApacheBench's vocabulary: a line such as
//
//	ab -n 1000 -c 10 -k http://127.0.0.1:8080/
//
// asks a web server and ends with ab's report. It measures no storage itself: the server is in the place, with its
// files. The client is package httpload, in this process or, with a session, in a container that may share the
// server's network.
//
// Each connection sends its next request when it has an answer: a closed loop. The times are those of ab 2.3, taken
// on the socket, and the requests are HTTP/1.0, as ab sends them.
package ab

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/httpload"
)

// A Test is a parsed line.
type Test struct {
	// Requests is -n, Concurrency -c. Limit and Timeout are -t and -s in seconds; Limit 0: none.
	Requests, Concurrency, Limit, Timeout, Verbosity int
	// PostFile and PutFile are -p and -u; at most one is set.
	PostFile, PutFile, ContentType, Auth, Method, GnuplotFile, CSVFile string
	// Cookies and Headers are the -C and -H options in order.
	Cookies, Headers []string
	// The switches -k -i -d -S -q -l -r.
	KeepAlive, Head, NoPercent, NoConfidence, Quiet, AnyLength, GoOn bool
	// HTML is -w, with the attributes of -x, -y and -z.
	HTML                                           bool
	TableAttributes, RowAttributes, CellAttributes string
	// ProxyHost and ProxyPort are -X, "" for none; ProxyURL is the address as given, which the proxy is asked for;
	// ProxyAuth is -P, and NoServerName -I.
	ProxyHost, ProxyURL, ProxyAuth string
	ProxyPort                      int
	NoServerName                   bool
	// TLS says that the URL is https. Host is a name or an address without brackets; Path begins with a slash.
	TLS        bool
	Host, Path string
	Port       int
}

// maxFarBody bounds the body of a request that the worker sends, in bytes: it must fit into one message to the
// worker.
const maxFarBody = 8 << 20

// Elsewhere returns why only this process can send the requests, nil if a session can too.
func (t *Test) Elsewhere() error {
	const here = "leave out --engine, --record and limits"
	switch {
	case t.TLS:
		return dialect.Usagef("https://"+t.Host, "the worker speaks no TLS: %s, or ask http://", here)
	case t.Verbosity >= 2:
		return dialect.Usagef(fmt.Sprintf("-v %d", t.Verbosity), "prints the answers, which a session does not send back: %s", here)
	case t.Requests > httpload.MaxTravelling:
		return dialect.Usagef(fmt.Sprintf("-n %d", t.Requests), "the times of more than %d requests don't fit into a worker's answer: %s", httpload.MaxTravelling, here)
	}
	return nil
}

// Parse reads ab's options and the URL. It reads no file.
func Parse(args []string) (*Test, error) {
	t := &Test{Requests: 1, Concurrency: 1, Timeout: 30, ContentType: "text/plain"}
	rest, err := t.options(args)
	if err != nil {
		return nil, err
	}
	switch {
	case len(rest) == 0:
		return nil, dialect.Usagef("ab", "give the address, as in http://127.0.0.1:8080/")
	case len(rest) > 1:
		return nil, dialect.Usagef(rest[1], "one address is asked, and options stand before it")
	}
	if err := t.address(rest[0]); err != nil {
		return nil, err
	}
	if t.ProxyHost != "" {
		t.ProxyURL = rest[0]
	}
	return t, t.check()
}

// options parses ab's options, which may be joined to each other and to their values, and returns the rest.
func (t *Test) options(args []string) ([]string, error) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			return args[i+1:], nil
		}
		if len(a) < 2 || a[0] != '-' {
			return args[i:], nil
		}
		for k := 1; k < len(a); k++ {
			o := lookUp(a[k])
			name := "-" + a[k:k+1]
			at := dialect.Argument(i, name)
			switch {
			case o == nil && strings.HasPrefix(a, "--"):
				return nil, dialect.Usagef(dialect.Argument(i, a), "is unknown; ab's options are single letters: %s", letters())
			case o == nil:
				return nil, dialect.Usagef(dialect.Argument(i, a), "%s is unknown; the options are %s", name, letters())
			case o.Refused:
				return nil, dialect.Usagef(dialect.Argument(i, a), "%s isn't supported: %s", name, o.Note)
			case o.Value == "":
				if err := o.set(t, at, ""); err != nil {
					return nil, err
				}
				continue
			}
			value := a[k+1:]
			if value == "" {
				if i++; i == len(args) {
					return nil, dialect.Usagef(at, "needs a value: %s", o.Value)
				}
				value = args[i]
			}
			if err := o.set(t, at+" "+value, value); err != nil {
				return nil, err
			}
			break
		}
	}
	return nil, nil
}

// address reads the URL. Its path is sent unchanged.
func (t *Test) address(arg string) error {
	text := arg
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	scheme, rest, _ := strings.Cut(text, "://")
	switch strings.ToLower(scheme) {
	case "http":
		t.Port = 80
	case "https":
		t.TLS, t.Port = true, 443
	default:
		return dialect.Usagef(arg, "use http:// or https://")
	}
	host, path, ok := strings.Cut(rest, "/")
	if !ok {
		return dialect.Usagef(arg, "needs a path; ask %s/", arg)
	}
	u, err := url.Parse("http://" + host)
	switch {
	case err != nil || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		return dialect.Usagef(arg, "is not an address such as http://127.0.0.1:8080/")
	case u.User != nil:
		return dialect.Usagef(arg, "give user and password by -A user:password")
	case strings.ContainsFunc(path, func(r rune) bool { return control(r) || r == ' ' }):
		return dialect.Usagef(arg, "holds a space or a control character; write %%20 for a space")
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return dialect.Usagef(arg, "%s is not a port", p)
		}
		t.Port = int(n)
	}
	path, _, _ = strings.Cut(path, "#")
	t.Host, t.Path = u.Hostname(), "/"+path
	return nil
}

// check looks for contradictions.
func (t *Test) check() error {
	body := t.PostFile != "" || t.PutFile != ""
	switch {
	case t.Concurrency > t.Requests:
		return dialect.Usagef(fmt.Sprintf("-c %d", t.Concurrency), "more at a time than there are requests (-n %d)", t.Requests)
	case t.PostFile != "" && t.PutFile != "":
		return dialect.Usagef("-u "+t.PutFile, "contradicts -p %s", t.PostFile)
	case t.Head && (body || t.Method != ""):
		return dialect.Usagef("-i", "asks for the head only, which contradicts -p, -u and -m")
	case t.Method != "" && body:
		return dialect.Usagef("-m "+t.Method, "contradicts -p and -u, which have methods of their own")
	case t.Auth != "" && !strings.Contains(t.Auth, ":"):
		return dialect.Usagef("-A "+t.Auth, "must be user:password")
	case t.ProxyAuth != "" && (t.ProxyHost == "" || !strings.Contains(t.ProxyAuth, ":")):
		return dialect.Usagef("-P "+t.ProxyAuth, "must be user:password, and needs -X")
	case t.ProxyHost != "" && t.TLS:
		return dialect.Usagef("-X "+t.ProxyHost, "asks a proxy, which has to read the request: use http://")
	}
	return nil
}

// method is the method of the requests.
func (t *Test) method() string {
	switch {
	case t.Head:
		return "HEAD"
	case t.PostFile != "":
		return "POST"
	case t.PutFile != "":
		return "PUT"
	case t.Method != "":
		return t.Method
	}
	return "GET"
}

// hostPort is the value of the Host header: without the port if it is the default.
func (t *Test) hostPort() string {
	host := t.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if t.TLS && t.Port == 443 || !t.TLS && t.Port == 80 {
		return host
	}
	return host + ":" + strconv.Itoa(t.Port)
}

// dialAddress is the address to connect to.
func (t *Test) dialAddress() string {
	if t.ProxyHost != "" {
		return net.JoinHostPort(t.ProxyHost, strconv.Itoa(t.ProxyPort))
	}
	return net.JoinHostPort(t.Host, strconv.Itoa(t.Port))
}
