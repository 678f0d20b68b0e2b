package docker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
)

// TestDockerImportAtOnce: where another plimsoll imports the worker's image at the same moment, and the daemon refuses this one's
// import for it (Docker 29's store), the other's image is used as soon as it is listed; any other refusal is an error.
func TestDockerImportAtOnce(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		listed int // By which list the image is there; 0: by none.
		want   string
	}{
		"another's is listed later": {listed: 3},
		"nobody's is listed":        {want: "already exists, but accessing it also failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lists, imports := 0, 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/images/json"):
					lists++
					if x.listed > 0 && lists >= x.listed {
						fmt.Fprint(w, `[{"Id": "sha256:other", "RepoTags": ["plimsoll-worker:1"]}]`)
						return
					}
					fmt.Fprint(w, `[]`)
				case strings.HasSuffix(r.URL.Path, "/images/create"):
					imports++
					http.Error(w, `{"message": "creating image failed because it already exists, but accessing it also failed: No such image"}`, http.StatusConflict)
				}
			}))
			defer s.Close()
			api, err := client.New(client.WithHost("tcp://"+strings.TrimPrefix(s.URL, "http://")), client.WithAPIVersion("1.52"))
			if err != nil {
				t.Fatal(err)
			}
			defer api.Close()
			e := New(Options{Worker: func(goos, goarch string) ([]byte, error) { return []byte("worker"), nil }}).(*Engine)
			img, err := e.image(t.Context(), api, &daemonInfo{dockerapi.Daemon{Name: "docker", OS: "linux", Arch: "amd64"}}, "")
			if imports != 1 {
				t.Errorf("%d imports", imports)
			}
			if x.want != "" {
				if err == nil || !strings.Contains(err.Error(), x.want) {
					t.Errorf("image() = %+v, %v, want %q", img, err, x.want)
				}
				return
			}
			if err != nil || img.id != "sha256:other" || img.imported {
				t.Errorf("image() = %+v, %v, want the other's, which this one hasn't imported", img, err)
			}
		})
	}
}
