package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestRequirementsHaveANormalForm(t *testing.T) {
	for _, tt := range []struct {
		kind                     api.PackageKind
		entry, normal, installer string
		pinned                   bool
	}{
		{api.PythonPackages, "numpy==2.*", "numpy==2.*", "numpy==2.*", false},
		{api.PythonPackages, " NumPy == 2.2.4 ", "numpy==2.2.4", "numpy==2.2.4", true},
		{api.PythonPackages, "Zope.Interface", "zope-interface", "zope-interface", false},
		{api.PythonPackages, "a__b-.c", "a-b-c", "a-b-c", false},
		{api.PythonPackages, "pandas >=2, <3", "pandas<3,>=2", "pandas<3,>=2", false},
		{api.PythonPackages, "requests[Socks,security]~=2.31", "requests[security,socks]~=2.31", "requests[security,socks]~=2.31", false},
		{api.PythonPackages, "x==1.0+local.1", "x==1.0+local.1", "x==1.0+local.1", true},
		{api.PythonPackages, "x>=1,>=1", "x>=1", "x>=1", false},
		{api.NPMPackages, "lodash==4.17.21", "lodash==4.17.21", "lodash@4.17.21", true},
		{api.NPMPackages, "x==1.2.3-beta.1+5", "x==1.2.3-beta.1+5", "x@1.2.3-beta.1+5", true},
		{api.NPMPackages, "@types/node^20", "@types/node^20", "@types/node@^20", false},
		{api.NPMPackages, "express>=4,<5", "express<5,>=4", "express@<5 >=4", false},
		{api.GemPackages, "rack~>3.0", "rack~>3.0", "rack\t~>3.0", false},
		{api.GemPackages, "RedCloth==4.3", "RedCloth==4.3", "RedCloth\t=4.3", true},
		{api.GemPackages, "rake", "rake", "rake", false},
	} {
		r, err := api.ParseRequirement(tt.kind, tt.entry)
		if err != nil {
			t.Errorf("%s %q: %v", tt.kind, tt.entry, err)
			continue
		}
		if r.String() != tt.normal || r.ForInstaller(tt.kind) != tt.installer || r.Pinned() != tt.pinned {
			t.Errorf("%s %q: %q, %q, %v; want %q, %q, %v", tt.kind, tt.entry, r, r.ForInstaller(tt.kind), r.Pinned(), tt.normal,
				tt.installer, tt.pinned)
		}
	}
}

// PKG-07. Nothing that an installer could take for an option, a path, a URL or a repository is a
// requirement, nor a name that only looks like another one.
func TestHostileRequirementsAreRefused(t *testing.T) {
	hostile := []string{
		"", " ", "-r /etc/passwd", "--index-url=http://evil.test/", "-e .", ".", "..", "./x", "/etc/passwd", "x/y", `x\y`,
		"git+https://evil.test/x", "https://evil.test/x.whl", "x @ https://evil.test/x.whl", "file:///etc/passwd",
		"x;python_version>'3'", "x # y",
		"x\n--pre", "x\r", "x\x00", "x\t", "nump\u0443", "n\u00fampy", "\u202enumpy", "numpy\u200b", "x===1", "x==", "x=1", "x==1 2",
		"num py", "x==-1", "x==1;y",
		"x>=1.*", "x[", "x[]", "x[a", "x[-a]", "x[a]]", "$(id)", "`id`", "${HOME}", "%(x)s", "x'", `"x"`, "x==1,", ",x", "x==1,-r", "-",
		"_x", "x-", "~/x", "x==*",
		strings.Repeat("x", 201), "x" + strings.Repeat(",>1", 17), "x>1" + strings.Repeat(",>1.1", 30),
	}

	for _, kind := range api.PackageKinds() {
		for _, entry := range hostile {
			if kind != api.PythonPackages && entry == "x-" {
				continue
			}
			if kind == api.NPMPackages && entry == "x-" {
				continue
			}
			if r, err := api.ParseRequirement(kind, entry); !api.HasCode(err, api.CodeBadRequest) {
				t.Errorf("%s %q is %q, %v; want a refusal", kind, entry, r, err)
			}
		}
	}

	for _, entry := range []string{"@/x", "@x", "@x/", "@x/y/z", "../x", "X", ".x", "@.x/y", "x@1", "x==1.*", "x==4", "x==4.17",
		"x==4.17.21.1", "x==4-1.0"} { // npm takes x@4 for any 4.x, and the last two for names of the index
		if _, err := api.ParseRequirement(api.NPMPackages, entry); err == nil {
			t.Errorf("npm %q is taken", entry)
		}
	}

	if _, err := api.ParseRequirement("apt", "x"); err == nil {
		t.Error("a kind that does not exist is taken")
	}
	if _, err := api.ParseRequirements(api.PythonPackages, slices.Repeat([]string{"x"}, 65)); err == nil {
		t.Error("65 requirements are taken")
	}
}

func TestAListOfRequirementsIsSorted(t *testing.T) {
	all, err := api.ParseRequirements(api.PythonPackages, api.RequirementsOfFile("# needed\nb\na ==1 # why\n\nA==1\n"))
	if err != nil || len(all) != 2 || all[0].String() != "a==1" || all[1].String() != "b" {
		t.Errorf("%v, %v", all, err)
	}
}

// FuzzRequirement: whatever is taken has a normal form that is taken as the same, and has no character
// that an installer or a shell could misread.
func FuzzRequirement(f *testing.F) {
	for _, s := range []string{"numpy==2.*", "a[b,c]>=1,<2", "@types/node^20", "rack~>3.0", "-r x", "x @ y"} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, entry string) {
		for _, kind := range api.PackageKinds() {
			r, err := api.ParseRequirement(kind, entry)
			if err != nil {
				continue
			}

			again, err := api.ParseRequirement(kind, r.String())
			if err != nil || again.String() != r.String() {
				t.Errorf("%s %q is %q, and that is %q, %v", kind, entry, r, again, err)
			}

			words := r.ForInstaller(kind)
			if strings.HasPrefix(words, "-") || strings.ContainsAny(words, "\n\r\x00;#$`\\'\"(){}%:") ||
				strings.Contains(words, "..") && kind == api.PythonPackages {
				t.Errorf("%s %q becomes %q", kind, entry, words)
			}

			for _, c := range words {
				if c > '~' {
					t.Errorf("%s %q becomes %q", kind, entry, words)
				}
			}
		}
	})
}

func TestIndexes(t *testing.T) {
	for url, want := range map[string]string{
		"https://pypi.org/simple": "pypi.org:443", "http://127.0.0.1:3141/root": "127.0.0.1:3141", "http://devpi.local/": "devpi.local:80",
	} {
		if x, err := api.ParseIndex(url); err != nil || x.Host.String() != want {
			t.Errorf("%s: %v, %v", url, x.Host, err)
		}
	}

	for _, url := range []string{
		"", "pypi.org", "ftp://pypi.org/", "file:///etc", "https://user:pass@pypi.org/", "https://pypi.org/?x=1", "https://[::1]/",
		"https://*.org/", "https:///x",
		"https://pypi.org/ -r x", "https://pypi.org/$(id)", "https://pypi.org:0/", "https://pypi.org:99999/", "https://pypi.org/#x", "-i",
		"https://a/" + strings.Repeat("x", 1100),
	} {
		if x, err := api.ParseIndex(url); !api.HasCode(err, api.CodeBadRequest) {
			t.Errorf("%q: %+v, %v; want a refusal", url, x, err)
		}
	}

	l := api.LanguagePackages{Index: "https://pypi.org/simple", Hosts: []string{"files.pythonhosted.org"}}
	_, own, err := l.IndexFor("https://mirror.example.org/simple")
	if err != nil || len(own) != 1 {
		t.Errorf("another index reaches %v, %v; want it alone", own, err)
	}
	if _, all, err := l.IndexFor(""); err != nil || len(all) != 2 {
		t.Errorf("the language's index reaches %v, %v", all, err)
	}
}

func TestRequestsForPackages(t *testing.T) {
	ok := api.Run{Language: "python", Source: api.Bytes("x"), Requirements: []string{"numpy"}}
	if err := ok.Validate(); err != nil {
		t.Error(err)
	}

	for name, change := range map[string]func(*api.Run){
		"no language":    func(r *api.Run) { r.Language, r.Source, r.Image, r.Argv = "", nil, "x", []string{"y"} },
		"an image":       func(r *api.Run) { r.Image = "x" },
		"too many":       func(r *api.Run) { r.Requirements = slices.Repeat(r.Requirements, 65) },
		"too long":       func(r *api.Run) { r.Requirements = []string{strings.Repeat("x", 201)} },
		"an index alone": func(r *api.Run) { r.Requirements, r.Index = nil, "https://pypi.org/simple" },
		"a bad index":    func(r *api.Run) { r.Index = "x" },
	} {
		r := ok
		change(&r)
		if err := r.Validate(); err == nil {
			t.Errorf("%s: taken", name)
		}
	}

	if err := (api.PackageRequest{Language: "python"}).Validate(); err == nil {
		t.Error("a request without requirements is taken")
	}
	if err := (api.SessionRequest{Image: "x", Requirements: []string{"y"}}).Validate(); err == nil {
		t.Error("a session of an image takes requirements")
	}
}
