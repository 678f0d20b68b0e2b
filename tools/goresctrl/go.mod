// What plimsoll's import of block I/O classes is compared with. It is a module of its own so that nobody who builds
// Plimsoll has to fetch it. The versions are those of ../currentdocker.
module plimsoll/tools/goresctrl

go 1.26.0

require (
	github.com/intel/goresctrl v0.13.0
	github.com/opencontainers/runtime-spec v1.3.0
	k8s.io/apimachinery v0.37.0
	sigs.k8s.io/yaml v1.6.0
)

require (
	github.com/fxamacker/cbor/v2 v2.9.1 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	golang.org/x/sys v0.42.0 // indirect
	gopkg.in/inf.v0 v0.9.1 // indirect
	sigs.k8s.io/json v0.0.0-20250730193827-2d320260d730 // indirect
)
