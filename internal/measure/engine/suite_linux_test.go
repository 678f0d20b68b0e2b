package engine_test

import (
	"testing"

	"plimsoll/internal/testkit/paralleltest"
)

func TestMain(m *testing.M) { paralleltest.Main(m, 4) }
