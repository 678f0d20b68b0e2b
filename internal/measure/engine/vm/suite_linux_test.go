package vm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/paralleltest"
	"plimsoll/internal/testkit/workertest"
)

func TestMain(m *testing.M) {
	paralleltest.AtOnce(4)
	status := m.Run()
	if oneState != "" {
		os.RemoveAll(oneState)
	}
	os.Exit(status)
}

var oneState string

// sharedState is a state folder of all tests that don't ask what is in a new one: a machine that has booted for one of them is saved there, and others
// go on from it.
func sharedState(t *testing.T) string {
	t.Helper()
	if oneState == "" {
		var err error
		if oneState, err = os.MkdirTemp("", "plimsoll-test-vm-"); err != nil {
			t.Fatal(err)
		}
	}
	return oneState
}

// bootTests names the variable with which scripts/test-guest asks for the tests that boot machines: an emulated processor takes all
// that there is of a real one, and other tests beside it measure time.
const bootTests = "PLIMSOLL_TEST_VM"

// needVM skips a test that needs QEMU and the tests' kernel, which scripts/guest fetches.
func needVM(t *testing.T) {
	t.Helper()
	if os.Getenv(bootTests) == "" {
		t.Skip("virtual machines are booted by make test-guest")
	}
	// Every process that the tests start inherits it. It tells them from the processes of another run of the same tests (ours).
	os.Setenv(bootTests, strconv.Itoa(os.Getpid()))
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Skip("qemu is needed: scripts/setup guest")
	}
	if _, err := os.Stat(testKernel(t)); err != nil {
		t.Skip("the tests' kernel is needed: scripts/guest fetches it")
	}
}

// testKernel is the tests' kernel.
func testKernel(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(cache, "plimsoll/guest/vmlinux")
}

// testOptions are those of machines with the tests' kernel (scripts/guest). They have one CPU: with two, which an emulator keeps in step, a boot takes a
// third more of the computer's time. TestVMSaved's machines have as many as those of users.
func testOptions(t *testing.T, state string) vm.Options {
	t.Helper()
	return vm.Options{
		State: state, Worker: workertest.Source(t), LookPath: exec.LookPath, Accel: vm.AccelTCG,
		Kernel: testKernel(t), CPUs: 1,
	}
}

func TestVMSuite(t *testing.T) {
	needVM(t)
	state := sharedState(t)
	enginetest.Suite{
		New:    func(t *testing.T) engine.Engine { return vm.New(testOptions(t, state)) },
		Places: []place.Kind{place.Layer, place.Bind, place.Tmpfs},
		Memory: true, Guest: true,
	}.Run(t)
}
