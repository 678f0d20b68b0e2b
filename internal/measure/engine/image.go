package engine

import (
	"context"
)

// An ImageChecker is an engine that knows before a run whether it has an image.
type ImageChecker interface {
	// CheckImage returns an error if image can't be had, and nil if it is there or that can't be
	// found out: whether the engine works at all is for Probe to say.
	CheckImage(ctx context.Context, image string) error
}
