package engine

import (
	"context"
)

// An ImageChecker is an engine that knows before a run whether it has an image.
type ImageChecker interface {
	// CheckImage returns an error if image can't be had. It returns nil if the image exists or that can't be found out;
	// Probe reports whether the engine works at all.
	CheckImage(ctx context.Context, image string) error
}
