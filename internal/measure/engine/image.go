package engine

import (
	"context"
	"errors"
	"os"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
)

// An ImageChecker is an engine that knows before a run whether it has an image.
type ImageChecker interface {
	// CheckImage returns an error if image can't be had, and nil if it is there or that can't be
	// found out: whether the engine works at all is for Probe to say.
	CheckImage(ctx context.Context, image string) error
}

var (
	_ ImageChecker = (*oci)(nil)
	_ ImageChecker = (*docker)(nil)
)

// CheckImage implements ImageChecker.
func (o *oci) CheckImage(_ context.Context, image string) error {
	if st, err := os.Stat(image); err != nil || !st.IsDir() {
		return noImageFolder(image)
	}
	return nil
}

// noImageFolder says that image isn't one for an OCI runtime.
func noImageFolder(image string) error {
	return &Unsupported{"oci", "image " + image, "it is not a folder with a root file system", "unpack the image and name the folder"}
}

// CheckImage implements ImageChecker.
func (e *docker) CheckImage(ctx context.Context, image string) error {
	ctx, cancel := context.WithTimeout(ctx, dockerProbeTimeout)
	defer cancel()
	api, d, err := e.connect(ctx, false)
	if err != nil {
		return nil
	}
	var u *Unsupported
	_, err = e.userImage(ctx, api, d, image)
	switch {
	case errors.As(err, &u):
		return u
	case err != nil && (cerrdefs.IsInvalidArgument(err) || strings.Contains(err.Error(), "invalid reference format")):
		return err // It is no name of an image; Podman says so with the status 500.
	}
	return nil
}
