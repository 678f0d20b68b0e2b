//go:build !linux

package main

import (
	"context"
	"errors"
)

func machine(context.Context, []string) error { return errors.New("init needs Linux") }
