// Package docker is the engine docker: the worker runs in a container of any daemon that speaks the Docker Engine API 1.40
// or later, such as Docker, Podman, or a daemon of Windows containers.
//
// The agent's input and output are the container's attached streams. The agent ends with its input, and the container
// removes itself when it ends. If plimsoll is killed, only things labelled with their owner remain, which Sweep finds. The
// engine pulls nothing: it imports Plimsoll's own image, and a user's image must exist.
package docker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/measure/engine"
)

// Options say which daemon the docker engine talks to.
type Options struct {
	// Host is the daemon's address: unix:///run/docker.sock, npipe:////./pipe/docker_engine
	// or tcp://host:2376. Empty: DOCKER_HOST, else the current docker context, else the
	// system's default socket. TLS certificates come from DOCKER_CERT_PATH.
	Host string
	// Env looks up the environment variables that give the address. nil: os.Getenv.
	Env func(string) string
	// StateDir keeps the notes by which Sweep finds folders on this machine, and the folders of bind places without a path.
	// Empty: no notes, and such places are refused.
	StateDir string
	// Worker returns the worker's program.
	Worker engine.WorkerSource
}

// An Engine is the engine for any daemon that speaks the Docker Engine API 1.40 or later.
type Engine struct {
	opt     Options
	owner   ownerIdentity
	journal engine.Journal
	// nonce tells this engine's objects from those of another engine in this process.
	nonce string

	mu     sync.Mutex
	api    *client.Client
	daemon *daemonInfo
	// open holds the IDs of living sessions, which Sweep leaves alone.
	open map[string]bool
	// limitsTried counts the sets of resource limits that the daemon refused.
	limitsTried int

	// closeTimeout bounds Close against a daemon that hangs.
	closeTimeout time.Duration

	// imageMu keeps several Opens from importing the same image.
	imageMu sync.Mutex
}

var _ engine.Engine = (*Engine)(nil)

// New returns the engine for containers of a Docker daemon or of any other daemon with its API, such as Podman. It sends
// the daemon nothing before the first method call.
func New(opt Options) engine.Engine {
	var b [8]byte
	rand.Read(b[:])
	return &Engine{opt: opt, owner: thisProcess(), journal: engine.JournalIn(opt.StateDir, "docker"), nonce: hex.EncodeToString(b[:]), open: map[string]bool{}, closeTimeout: defaultCloseTimeout}
}

// Name implements Engine.
func (e *Engine) Name() string { return "docker" }

// How long the daemon may take for a request. It needs seconds to create a container when its disk is being measured.
const (
	openTimeout         = 2 * time.Minute
	defaultCloseTimeout = 15 * time.Second
)

// connect returns the client and the daemon's information. It asks the daemon the first time, and each time if fresh is
// set.
func (e *Engine) connect(ctx context.Context, fresh bool) (*client.Client, *daemonInfo, error) {
	e.mu.Lock()
	api, d := e.api, e.daemon
	e.mu.Unlock()
	if d != nil && !fresh {
		return api, d, nil
	}
	// The address is looked up again, since a client doesn't report it.
	address, err := dockerapi.Find(e.opt.Host, e.opt.Env)
	if api == nil {
		if err != nil {
			return nil, nil, err
		}
		if api, err = dockerapi.Open(address); err != nil {
			return nil, nil, err
		}
	}
	d, err = askDaemon(ctx, api, address.Source)
	if err != nil {
		api.Close()
		return nil, nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.api != nil && e.api != api {
		// Another goroutine was first; its client may be in use.
		api.Close()
	} else {
		e.api = api
	}
	e.daemon = d
	return e.api, d, nil
}

// worker returns the program for the daemon's containers.
func (e *Engine) worker(goos, goarch string) ([]byte, error) {
	if e.opt.Worker == nil {
		return nil, errors.New("this engine has no worker program")
	}
	b, err := e.opt.Worker(goos, goarch)
	if err == nil && len(b) == 0 {
		err = fmt.Errorf("the worker for %s/%s is empty", goos, goarch)
	}
	return b, err
}

// enter notes a session as living; it refuses an ID that is in use.
func (e *Engine) enter(id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open[id] {
		return fmt.Errorf("session %s is open already", id)
	}
	e.open[id] = true
	return nil
}

func (e *Engine) leave(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.open, id)
}

func (e *Engine) lives(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open[id]
}
