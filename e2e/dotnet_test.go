package e2e

import (
	"archive/tar"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/brig-sandbox/brig/api"
)

// standIn is a program with the name of dotnet or pwsh: it prints its arguments and those variables
// that the manifests set. As the compiler it writes this into the program, which then prints it.
const standIn = `#!/bin/sh
tell() {
  echo "$1: ${0##*/}"
  shift
  for word; do echo "<$word>"; done
  env | grep -E '^(DOTNET_|POWERSHELL_|XDG_|HOME=)' | sort
}
case $2 in
*/csc.dll) tell compiler "$@" >main.dll; cat /tmp/usings.cs >>main.dll ;;
main.dll) cat main.dll main.runtimeconfig.json; tell program "$@" ;;
*) tell program "$@" ;;
esac
`

// .NET and PowerShell come in an image of Microsoft's registry, which no test can reach. The
// manifests are tested with an image in which programs of these names tell how they are called.
func TestDotnetManifestsWithAStandIn(t *testing.T) {
	a := startAgentWith(t, publicDir(t, "brig-dotnet-"), "--slots", "1")
	images.ensure(t, a)
	dir := t.TempDir()
	for name, text := range map[string]string{"main.cs": "Console.WriteLine(1);\n", "other.cs": "class A {}\n", "main.ps1": "1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, source := range []string{"main.cs", "main.ps1"} { // the error names the command, to the last word
		language := map[string]string{"main.cs": "dotnet", "main.ps1": "powershell"}[source]
		out, err := a.brig(t, nil, "run", "-l", language, filepath.Join(dir, source))
		if err == nil || !strings.Contains(out, "image dotnet of language "+language+" is not stored: pull it with sudo brig rootfs pull mcr.microsoft.com/dotnet/sdk:9.0 --name dotnet\n") {
			t.Errorf("%s without its image: %v\n%s", language, err, out)
		}
	}
	if e := a.refused(t, api.Run{Language: "powershell", Source: api.Bytes("1")}, api.CodeNoImage); !strings.HasSuffix(e.Message, "pull it with sudo brig rootfs pull mcr.microsoft.com/dotnet/sdk:9.0 --name dotnet") {
		t.Errorf("a request without the image: %s", e.Message)
	}

	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	const sdk = "usr/share/dotnet/"
	layer := tarOf(t, textFile(sdk+"dotnet", standIn, 0o755), textFile("usr/bin/pwsh", standIn, 0o755),
		&tar.Header{Typeflag: tar.TypeSymlink, Name: "usr/bin/dotnet", Linkname: "/" + sdk + "dotnet", Mode: 0o777},
		textFile(sdk+"sdk/9.0.100/Roslyn/bincore/csc.dll", "", 0o644),
		textFile(sdk+"packs/Microsoft.NETCore.App.Ref/9.0.0/ref/net9.0/System.Runtime.dll", "", 0o644),
		textFile(sdk+"packs/Microsoft.NETCore.App.Ref/9.0.0/ref/net9.0/System.Console.dll", "", 0o644))
	img := layersOf(t, v1.Config{Env: []string{"DOTNET_gcServer=1", "DOTNET_VERSION=9.0.0"}}, a.storedTar(t, "tiny"), layer)
	if out, err := a.brig(t, nil, "rootfs", "pull", push(t, server, "dotnet/sdk:9.0", img), "--name", "dotnet"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	// The variables of the manifest count before those of the image.
	const variables = "DOTNET_EnableDiagnostics=0\nDOTNET_TieredPGO=0\nDOTNET_VERSION=9.0.0\nDOTNET_gcServer=0\nHOME=/box\n"
	for _, tt := range []struct {
		run  api.Run
		want []string // parts of the output, in this order
	}{
		{
			api.Run{Language: "dotnet", Source: api.Bytes("x"), Files: []api.File{{Name: "other.cs", Content: []byte("y")}}, Flags: []string{"-checked", "-d:A;B"}},
			[]string{
				"compiler: dotnet\n<exec>\n</usr/share/dotnet/sdk/9.0.100/Roslyn/bincore/csc.dll>\n<-nologo>\n<-nostdlib>\n<-noconfig>\n",
				"<-target:exe>\n<-out:main.dll>\n<-checked>\n<-d:A;B>\n<main.cs>\n<other.cs>\n",
				"/ref/net9.0/System.Console.dll>\n", "/ref/net9.0/System.Runtime.dll>\n</tmp/usings.cs>\n" + variables,
				"global using global::System;\n", "global using global::System.Collections.Generic;\n", `"version":"9.0.0"`,
				"program: dotnet\n<exec>\n<main.dll>\n<a b>\n" + variables,
			},
		},
		{
			api.Run{Language: "pwsh", Source: api.Bytes("x")},
			[]string{
				"program: pwsh\n<-NoLogo>\n<-NoProfile>\n<-NonInteractive>\n<-File>\n<main.ps1>\n<a b>\n",
				strings.TrimSuffix(variables, "HOME=/box\n") + "HOME=/box\nPOWERSHELL_TELEMETRY_OPTOUT=1\nPOWERSHELL_UPDATECHECK=Off\nXDG_CACHE_HOME=/tmp\nXDG_CONFIG_HOME=/tmp\nXDG_DATA_HOME=/tmp\n",
			},
		},
	} {
		tt.run.Argv, tt.run.Collect = []string{"a b"}, api.Collect{None: true}
		res := a.run(t, tt.run)
		wantVerdict(t, res, api.OK)
		rest := string(res.Stdout)
		for _, part := range tt.want {
			_, after, ok := strings.Cut(rest, part)
			if !ok {
				t.Errorf("%s: the output\n%s\nlacks, in its place,\n%s", tt.run.Language, res.Stdout, part)
				break
			}
			rest = after
		}
		if res.Host.Profile != "managed" {
			t.Errorf("%s: its tier is %s; want managed", tt.run.Language, res.Host.Profile)
		}
	}
	all, err := a.Languages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(l api.Language) bool { return l.Name == "dotnet" })
	if i < 0 || all[i].CompileTier != "managed" || all[i].ImageFrom != "mcr.microsoft.com/dotnet/sdk:9.0" || !all[i].Stored {
		t.Errorf("the agent says %+v of dotnet", all)
	}
}
