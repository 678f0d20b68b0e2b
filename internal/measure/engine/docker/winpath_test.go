package docker

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/mount"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/contracttest"
	"plimsoll/internal/text/refusal"
)

// A startingFake is a windowsFake whose containers start: the connection to one is held, and nothing is said there.
type startingFake struct {
	*windowsFake
	archive string
}

func (f *startingFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/archive"):
		f.mu.Lock()
		f.archive = r.URL.Query().Get("path")
		f.mu.Unlock()
	case strings.HasSuffix(path, "/attach"):
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		fmt.Fprint(conn, "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
		go func() {
			defer conn.Close()
			_, _ = conn.Read(make([]byte, 1)) // The end of the session.
		}()
	case strings.HasSuffix(path, "/start"):
		w.WriteHeader(http.StatusNoContent)
	case strings.HasSuffix(path, "/events"):
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case strings.HasSuffix(path, "/containers/web/json"):
		var made struct {
			HostConfig struct {
				Isolation string
				Mounts    []mount.Mount
			}
		}
		f.mu.Lock()
		_ = json.Unmarshal([]byte(f.created[len(f.created)-1]), &made)
		f.mu.Unlock()
		var mounts []map[string]string
		for _, m := range made.HostConfig.Mounts {
			// As Windows' daemon has them: its own separator, and letters of either case.
			mounts = append(mounts, map[string]string{"Type": string(m.Type), "Name": "v1", "Source": `C:\ProgramData\docker\volumes\v1\_data`, "Destination": strings.Replace(m.Target, `C:\`, `c:\`, 1)})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"Id": "web", "State": map[string]any{"Running": true, "Pid": 4}, "HostConfig": made.HostConfig, "Mounts": mounts})
	default:
		f.windowsFake.ServeHTTP(w, r)
	}
}

// TestDockerWindowsDescribes: what the daemon says of a container's isolation is what is recorded, not what was asked for alone,
// and its volume is found although Windows' paths have no case.
func TestDockerWindowsDescribes(t *testing.T) {
	for _, isolation := range []string{"", "process", "hyperv"} {
		f := &startingFake{windowsFake: &windowsFake{}}
		e := windowsEngine(serveFake(t, contracttest.Record(t, f)))
		s, err := e.Open(t.Context(), engine.Spec{ID: "a-1", Image: "nano", Place: place.Spec{Kind: place.Volume}, Isolation: isolation})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Info().Isolation; got != isolation {
			t.Errorf("isolation %q, want %q", got, isolation)
		}
		if got := s.(*session).volume; got != "v1" {
			t.Errorf("its volume is %q, want v1", got)
		}
		// Where the daemon is on this machine, as over a named pipe.
		if got, want := s.Info().HostPath, `C:\ProgramData\docker\volumes\v1\_data\plimsoll-a-1`; onWindows && got != want {
			t.Errorf("its data is in %q, want %q", got, want)
		}
		if f.archive != archiveRoot {
			t.Errorf("the worker went to %q", f.archive)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// TestDockerWindowsCommand: the daemon makes one line of the command's words, as every program of Windows has it. None of them
// needs quotes there, for a session's ID may hold no more than letters, digits and dashes. An image's own command goes with
// its entry point, and its environment is emptied by names in capitals, which the daemon compares without regard to case.
func TestDockerWindowsCommand(t *testing.T) {
	f, e := newWindowsFake(t)
	source := place.Spec{Name: "source", Kind: place.Volume}
	if _, err := e.Open(t.Context(), engine.Spec{ID: "A-1", Image: "nano", Place: place.Spec{Kind: place.Volume}, Source: &source}); err == nil || len(f.created) != 1 {
		t.Fatalf("Open = %v after %d containers", err, len(f.created))
	}
	var body struct {
		Entrypoint, Cmd, Env []string
		ArgsEscaped          bool
		HostConfig           struct{ Mounts []mount.Mount }
	}
	if err := json.Unmarshal([]byte(f.created[0]), &body); err != nil {
		t.Fatal(err)
	}
	if len(body.Entrypoint) != 6 || len(body.Cmd) > 0 || body.ArgsEscaped {
		t.Errorf("it runs %q %q, escaped: %v", body.Entrypoint, body.Cmd, body.ArgsEscaped)
	}
	for _, word := range body.Entrypoint {
		if word == "" || strings.ContainsAny(word, " \t\"") || strings.HasSuffix(word, `\`) {
			t.Errorf("%q needs quotes in %q", word, body.Entrypoint)
		}
	}
	for _, v := range body.Env {
		if name, _, _ := strings.Cut(v, "="); name != strings.ToUpper(name) {
			t.Errorf("the variable %s isn't in capitals", v)
		}
	}
	if len(body.HostConfig.Mounts) != 2 {
		t.Fatalf("mounts %+v, want two", body.HostConfig.Mounts)
	}
	for i, m := range body.HostConfig.Mounts {
		// moby's windows_parser.go refuses C:\ itself and what is relative.
		if !strings.HasPrefix(m.Target, `C:\plimsoll-data-`) || strings.ContainsAny(m.Target, ` /"`) {
			t.Errorf("mounted on %q", m.Target)
		}
		if dir := body.Entrypoint[3+2*i]; dir != m.Target+`\plimsoll-A-1` {
			t.Errorf("the worker works in %q of the volume on %q", dir, m.Target)
		}
	}
	if _, err := e.Open(t.Context(), engine.Spec{ID: `A" B`, Image: "nano", Place: place.Spec{Kind: place.Volume}}); err == nil || !strings.Contains(err.Error(), "letters, digits and dashes") {
		t.Errorf("an ID with a quote: %v", err)
	}
}

// TestOnDrive: a daemon on Windows mounts what is on a drive alone.
func TestOnDrive(t *testing.T) {
	for path, want := range map[string]bool{
		`\\server\share`: false, `//server/share/a b`: false, `\\?\UNC\server\share`: false, `\\?\unc\server\share`: false,
		`C:\data`: true, `D:\my data\`: true, `d:/data/`: true, `\\?\D:\data`: true, `data`: true, `\data`: true, ``: true,
	} {
		if got := onDrive(path); got != want {
			t.Errorf("onDrive(%s) = %v", path, got)
		}
	}
	d := &daemonInfo{dockerapi.Daemon{Name: "docker", OS: "windows"}}
	err := checkSpec(engine.Spec{ID: "a", Place: place.Spec{Name: "p", Kind: place.Bind, Path: `\\server\share`}}, d)
	var u *refusal.Error
	const want = `engine docker has no place bind on \\server\share: Windows mounts folders of drives into containers, and this is on none; give the share a drive for all users (New-SmbGlobalMapping -LocalPath G: -RemotePath \\SERVER\SHARE) and name that`
	if !errors.As(err, &u) || err.Error() != want {
		t.Errorf("a bind of a share: %v, want the refusal %s", err, want)
	}
	if err := checkSpec(engine.Spec{ID: "a", Place: place.Spec{Name: "p", Kind: place.Bind, Path: `D:\my data`}}, d); err != nil {
		t.Errorf("a bind of another drive: %v", err)
	}
	if diff := cmp.Diff([]bool{true, false, true}, []bool{
		sameInContainer(`c:\Data`, `C:/data`, &workerImage{windows: true}),
		sameInContainer(`/Data`, `/data`, &workerImage{}), sameInContainer(`/data`, `/data`, &workerImage{}),
	}); diff != "" {
		t.Error(diff)
	}
}
