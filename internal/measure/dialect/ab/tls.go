package ab

import (
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync"
)

// curves are those that ab's report has names for.
var curves = []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}

// security makes connections ones with TLS, and keeps what the first of them agreed on.
type security struct {
	config *tls.Config
	mu     sync.Mutex
	info   tlsInfo
}

// newSecurity returns the settings of connections to a host. They don't check the server's certificate: neither does ab, and a measurement
// doesn't need it. With named the client sends the host's name (SNI).
func newSecurity(host string, named bool) *security {
	s := &security{config: &tls.Config{InsecureSkipVerify: true, CurvePreferences: curves}}
	if named {
		s.config.ServerName = host
	}
	return s
}

// handshake is httpload.Client's Secure.
func (s *security) handshake(ctx context.Context, conn net.Conn) (net.Conn, error) {
	t := tls.Client(conn, s.config)
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.info.protocol == "" {
		s.info = newTLSInfo(t.ConnectionState(), s.config.ServerName)
	}
	return t, nil
}

// A tlsInfo is what the report says of TLS, in OpenSSL's words.
type tlsInfo struct{ protocol, key, name string }

// newTLSInfo describes a connection.
func newTLSInfo(s tls.ConnectionState, name string) tlsInfo {
	version := strings.ReplaceAll(tls.VersionName(s.Version), "TLS ", "TLSv")
	bits := 128
	cipher := tls.CipherSuiteName(s.CipherSuite)
	if strings.Contains(cipher, "256_GCM") || strings.Contains(cipher, "CHACHA20") || strings.Contains(cipher, "AES_256") {
		bits = 256
	}
	key := 0
	if len(s.PeerCertificates) > 0 {
		switch k := s.PeerCertificates[0].PublicKey.(type) {
		case *rsa.PublicKey:
			key = k.N.BitLen()
		case *ecdsa.PublicKey:
			key = k.Curve.Params().BitSize
		default:
			key = 256 // Ed25519 is the only other.
		}
	}
	if net.ParseIP(name) != nil {
		name = "" // SNI has no addresses.
	}
	return tlsInfo{fmt.Sprintf("%s,%s,%d,%d", version, openSSLName(s.Version, cipher), key, bits), exchange(s.CurveID), name}
}

// openSSLName is OpenSSL's name of a cipher suite. Those of TLS 1.3 are the standard's; older ones leave words
// out: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is ECDHE-RSA-AES128-GCM-SHA256.
func openSSLName(version uint16, name string) string {
	if version >= tls.VersionTLS13 {
		return name
	}
	name = strings.TrimPrefix(name, "TLS_")
	name = strings.NewReplacer("_WITH_", "-", "AES_128", "AES128", "AES_256", "AES256", "CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305").Replace(name)
	return strings.ReplaceAll(name, "_", "-")
}

// exchange is OpenSSL's name of the key that was agreed on.
func exchange(id tls.CurveID) string {
	switch id {
	case tls.X25519:
		return "X25519 253 bits"
	case tls.CurveP256:
		return "ECDH prime256v1 256 bits"
	case tls.CurveP384:
		return "ECDH secp384r1 384 bits"
	case tls.CurveP521:
		return "ECDH secp521r1 521 bits"
	}
	return ""
}
