package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/text/refusal"
)

// Paths in a container of Plimsoll's own image. In a user's image the paths have names that can't be guessed (userPaths):
// an image may have a link at any other path, or declare it a volume.
const (
	workerPathInImage = "/worker"
	dataPathInImage   = "/data"
)

// userPaths are the paths of the worker and the place in a user's image.
func (e *Engine) userPaths() (worker, data string) {
	return "/plimsoll-worker-" + e.nonce, "/plimsoll-data-" + e.nonce
}

// repository is the name of Plimsoll's own images in the daemon.
const repository = "plimsoll-worker"

// A workerImage is the image of a session's containers.
type workerImage struct {
	// id is the image's id, never a name: a name may be pulled, an id can't be.
	id string
	// worker and data are paths in the container.
	worker, data string
	// copy is the worker's program if it has to be copied into each container.
	copy []byte
	// imported is set if this session imported the image.
	imported bool
	// windows is set if the paths are Windows paths.
	windows bool
}

// source is the path of the sources' own place in the container.
func (i *workerImage) source() string { return i.data + engine.SourceSuffix }

// image finds the image for spec's containers, and imports Plimsoll's own if the daemon doesn't have it. It asks no
// registry.
func (e *Engine) image(ctx context.Context, api *client.Client, d *daemonInfo, name string) (*workerImage, error) {
	if name == "" && d.windows() {
		return nil, noWindowsImage
	}
	if name != "" {
		return e.userImage(ctx, api, d, name)
	}
	worker, err := e.worker("linux", d.Arch)
	if err != nil {
		return nil, err
	}
	e.imageMu.Lock()
	defer e.imageMu.Unlock()
	hash := imageHash(worker)
	img := &workerImage{worker: workerPathInImage, data: dataPathInImage}
	if img.id, err = findImage(ctx, api, hash); err != nil || img.id != "" {
		return img, err
	}
	if err := importImage(ctx, api, worker, hash, d.Arch); err != nil {
		// If several plimsolls import it at the same time, the store of Docker 29 refuses all but one ("already exists, but
		// accessing it also failed"), whose image appears a moment later.
		for range 50 {
			if id, e := findImage(ctx, api, hash); e != nil || id != "" {
				img.id = id
				return img, e
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
		return nil, fmt.Errorf("import the image %s:%s: %w", repository, hash[:12], err)
	}
	img.imported = true
	if img.id, err = findImage(ctx, api, hash); err == nil && img.id == "" {
		err = fmt.Errorf("the daemon took the image %s:%s but doesn't list it", repository, hash[:12])
	}
	return img, err
}

// imageHash returns the hash that names the image of a worker: its SHA-256 in hexadecimal.
func imageHash(worker []byte) string {
	sum := sha256.Sum256(worker)
	return hex.EncodeToString(sum[:])
}

// findImage returns the id of the image with the worker of that hash, or "".
func findImage(ctx context.Context, api *client.Client, hash string) (string, error) {
	list, err := api.ImageList(ctx, client.ImageListOptions{Filters: make(client.Filters).Add("label", labelWorker+"="+hash)})
	if err != nil {
		return "", fmt.Errorf("look for the worker's image: %w", daemonErr(err))
	}
	for _, i := range list.Items {
		// Two plimsolls may have imported it at the same time; the last one has the name.
		if len(i.RepoTags) > 0 {
			return i.ID, nil
		}
	}
	if len(list.Items) > 0 {
		return list.Items[0].ID, nil
	}
	return "", nil
}

// importImage makes an image of the worker alone.
func importImage(ctx context.Context, api *client.Client, worker []byte, hash, arch string) error {
	layer, err := workerTar(worker, workerPathInImage, dataPathInImage, "/tmp")
	if err != nil {
		return err
	}
	res, err := api.ImageImport(ctx, client.ImageImportSource{Source: layer, SourceName: "-"}, repository, client.ImageImportOptions{
		Tag:      hash[:12],
		Message:  "made by plimsoll",
		Changes:  []string{"LABEL " + labelWorker + "=" + hash, `ENTRYPOINT ["` + workerPathInImage + `"]`},
		Platform: ocispec.Platform{OS: "linux", Architecture: arch},
	})
	if err != nil {
		return err
	}
	defer res.Close()
	return readProgress(res)
}

// readProgress reads a daemon's progress messages to their end. An error is one of these messages, after the status 200.
func readProgress(r io.Reader) error {
	for dec := json.NewDecoder(r); ; {
		var m struct {
			Error       string `json:"error"`
			ErrorDetail struct {
				Message string `json:"message"`
			} `json:"errorDetail"`
		}
		switch err := dec.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the daemon's answer: %w", err)
		case m.ErrorDetail.Message != "":
			return errors.New(m.ErrorDetail.Message)
		case m.Error != "":
			return errors.New(m.Error)
		}
	}
}

// userImage finds a user's image, which must exist.
func (e *Engine) userImage(ctx context.Context, api *client.Client, d *daemonInfo, name string) (*workerImage, error) {
	in, err := api.ImageInspect(ctx, name)
	if cerrdefs.IsNotFound(err) {
		return nil, &refusal.Error{Engine: e.Name(), What: "image " + name, Why: "the daemon doesn't have it, and plimsoll pulls no images", Fix: d.Name + " pull " + name}
	}
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", name, err)
	}
	if in.Os != "" && in.Os != d.OS {
		return nil, &refusal.Error{Engine: e.Name(), What: "image " + name, Why: "it is for " + in.Os + ", and the daemon runs containers of " + d.OS}
	}
	arch := in.Architecture
	if arch == "" {
		arch = d.Arch
	}
	worker, err := e.worker(d.OS, arch)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", name, err)
	}
	img := &workerImage{id: in.ID, copy: worker}
	img.worker, img.data = e.userPaths()
	if d.windows() {
		img.windows = true
		img.worker, img.data = windowsPath(img.worker)+".exe", windowsPath(img.data)
	}
	return img, nil
}

// workerTar is an archive with the worker, an empty folder for data, and others that everyone may write to. Its times are
// fixed, so that the same worker gives the same layer.
func workerTar(worker []byte, workerPath, dataPath string, open ...string) (*bytes.Buffer, error) {
	var b bytes.Buffer
	b.Grow(len(worker) + 8<<10)
	w := tar.NewWriter(&b)
	epoch := time.Unix(0, 0)
	// path.Base knows only this separator.
	workerPath, dataPath = strings.ReplaceAll(workerPath, `\`, "/"), strings.ReplaceAll(dataPath, `\`, "/")
	headers := []*tar.Header{{Name: path.Base(dataPath) + "/", Typeflag: tar.TypeDir, Mode: 0o755, ModTime: epoch}}
	for _, dir := range open {
		headers = append(headers, &tar.Header{Name: path.Base(dir) + "/", Typeflag: tar.TypeDir, Mode: 0o1777, ModTime: epoch})
	}
	headers = append(headers, &tar.Header{Name: path.Base(workerPath), Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(worker)), ModTime: epoch})
	for _, h := range headers {
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write(worker); err != nil {
				return nil, err
			}
		}
	}
	return &b, w.Close()
}

// imageGone reports whether a container could not be made because another plimsoll removed its image. Docker's own store
// says "No such image". containerd's removes an image before its parts, and also says "failed to read config content:
// content digest sha256:...: not found", as an internal error.
func imageGone(err error) bool {
	text := strings.ToLower(err.Error())
	return cerrdefs.IsNotFound(err) && strings.Contains(text, "image") || strings.Contains(text, "content digest") && strings.Contains(text, "not found")
}

var _ engine.ImageChecker = (*Engine)(nil)

// CheckImage implements engine.ImageChecker.
func (e *Engine) CheckImage(ctx context.Context, image string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	api, d, err := e.connect(ctx, false)
	if err != nil {
		return nil
	}
	var u *refusal.Error
	_, err = e.userImage(ctx, api, d, image)
	switch {
	case errors.As(err, &u):
		return u
	case err != nil && (cerrdefs.IsInvalidArgument(err) || strings.Contains(err.Error(), "invalid reference format")):
		return err // It is not a valid name; Podman reports that with the status 500.
	}
	return nil
}
