package target

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
)

// A containerdClient asks containerd for its containers. Its API is gRPC: HTTP/2 with a prefix of five bytes before each message. A
// single call doesn't justify a dependency (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
type containerdClient struct {
	address string
	http    *http.Client
}

func newContainerdClient(address string) *containerdClient {
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	return &containerdClient{address, &http.Client{Transport: &http.Transport{
		Protocols: &p,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", address)
		},
	}}}
}

func (c *containerdClient) close() { c.http.CloseIdleConnections() }

// A containerdContainer holds the fields of an answer that are used here.
type containerdContainer struct {
	labels map[string]string
	image  string
}

// listContainers is the method (containerd, api/services/containers/v1/containers.proto).
const listContainers = "/containerd.services.containers.v1.Containers/List"

// maxAnswer bounds an answer, in bytes: a container with its config.json has some 10 KiB.
const maxAnswer = 64 << 20

// containers lists the containers of a namespace by id.
func (c *containerdClient) containers(ctx context.Context, namespace string) (map[string]containerdContainer, error) {
	// An empty ListContainersRequest: not compressed, no bytes.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://containerd"+listContainers, bytes.NewReader(make([]byte, 5)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Te", "trailers")
	req.Header.Set("Containerd-Namespace", namespace)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, c.unreachable(err)
	}
	// An error without a message is in the header.
	if s := first(res.Trailer.Get("Grpc-Status"), res.Header.Get("Grpc-Status")); res.StatusCode != http.StatusOK || s != "0" {
		m, _ := url.PathUnescape(first(res.Trailer.Get("Grpc-Message"), res.Header.Get("Grpc-Message"), res.Status))
		return nil, fmt.Errorf("containerd at %s: %s", c.address, m)
	}
	if len(b) < 5 || b[0] != 0 || int(binary.BigEndian.Uint32(b[1:])) != len(b)-5 {
		return nil, fmt.Errorf("containerd at %s: its answer of %d bytes is not one message", c.address, len(b))
	}
	return parseContainers(b[5:])
}

// unreachable reports why containerd did not answer.
func (c *containerdClient) unreachable(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("this user may not use containerd's socket %s; run as root: %w", c.address, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("containerd's socket %s is not there; start containerd: %w", c.address, err)
	}
	return fmt.Errorf("containerd at %s: %w", c.address, err)
}

// parseContainers reads a ListContainersResponse: containers are its field 1. Of a Container the id
// is field 1, labels are entries (key 1, value 2) in field 2, the image is field 3.
func parseContainers(b []byte) (map[string]containerdContainer, error) {
	all := map[string]containerdContainer{}
	err := protoFields(b, func(field int, v []byte) error {
		if field != 1 {
			return nil
		}
		var id string
		c := containerdContainer{labels: map[string]string{}}
		err := protoFields(v, func(field int, v []byte) error {
			switch field {
			case 1:
				id = string(v)
			case 2:
				var key, value string
				err := protoFields(v, func(field int, v []byte) error {
					switch field {
					case 1:
						key = string(v)
					case 2:
						value = string(v)
					}
					return nil
				})
				c.labels[key] = value
				return err
			case 3:
				c.image = string(v)
			}
			return nil
		})
		all[id] = c
		return err
	})
	return all, err
}

// errProto is the error for an answer that is no protocol buffer.
var errProto = errors.New("containerd's answer can't be read")

// protoFields calls f for each field of a message that has a length: strings, messages. It skips others
// (https://protobuf.dev/programming-guides/encoding/).
func protoFields(b []byte, f func(field int, v []byte) error) error {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
			return errProto
		}
		b = b[n:]
		size := 0
		switch tag & 7 {
		case 0: // a number
			_, size = binary.Uvarint(b)
			if size <= 0 {
				return errProto
			}
		case 1: // 64 bits
			size = 8
		case 5: // 32 bits
			size = 4
		case 2:
			l, n := binary.Uvarint(b)
			if n <= 0 || l > uint64(len(b)-n) {
				return errProto
			}
			b, size = b[n:], int(l)
			if err := f(int(tag>>3), b[:size]); err != nil {
				return err
			}
		default:
			return errProto
		}
		if size > len(b) {
			return errProto
		}
		b = b[size:]
	}
	return nil
}
