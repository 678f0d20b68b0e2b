package ab

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// request is what is sent each time: the head as ab writes it, byte for byte, and the body.
func (t *Test) request(body []byte) []byte {
	var b strings.Builder
	target := t.Path
	if t.ProxyHost != "" {
		target = t.ProxyURL
	}
	fmt.Fprintf(&b, "%s %s HTTP/1.0\r\n", t.method(), target)
	if t.KeepAlive {
		b.WriteString("Connection: Keep-Alive\r\n")
	}
	if len(t.Cookies) > 0 {
		b.WriteString("Cookie: " + strings.Join(t.Cookies, "; ") + "\r\n")
	}
	if t.Auth != "" {
		b.WriteString("Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(t.Auth)) + "\r\n")
	}
	if t.ProxyAuth != "" {
		b.WriteString("Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(t.ProxyAuth)) + "\r\n")
	}
	if t.sends() {
		fmt.Fprintf(&b, "Content-length: %d\r\nContent-type: %s\r\n", len(body), t.ContentType)
	}
	for _, h := range t.Headers {
		b.WriteString(h + "\r\n")
	}
	for _, h := range [][2]string{{"Host", t.hostPort()}, {"User-Agent", "ApacheBench/2.3"}, {"Accept", "*/*"}} {
		if !t.hasHeader(h[0]) {
			b.WriteString(h[0] + ": " + h[1] + "\r\n")
		}
	}
	b.WriteString("\r\n")
	return append([]byte(b.String()), body...)
}

// sends reports whether requests have a body.
func (t *Test) sends() bool { return t.PostFile != "" || t.PutFile != "" }

// hasHeader reports whether -H gave a header.
func (t *Test) hasHeader(name string) bool {
	for _, h := range t.Headers {
		if n, _, _ := strings.Cut(h, ":"); strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}
