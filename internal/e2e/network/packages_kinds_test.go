package network

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// npm adds a package to an index of npm.
func (x *packageIndex) npm(t testing.TB, name, version string, files map[string]string, dependencies map[string]string) {
	t.Helper()
	base := strings.TrimSuffix(x.url, "/simple")
	about := map[string]any{"name": name, "version": version, "main": "index.js", "dependencies": dependencies,
		"scripts": map[string]string{"postinstall": "touch /packages/executed"}}
	text, err := json.Marshal(about)
	if err != nil {
		t.Fatal(err)
	}

	all := maps.Clone(files)
	all["package.json"] = string(text)
	var out bytes.Buffer
	g := gzip.NewWriter(&out)
	w := tar.NewWriter(g)
	for _, n := range slices.Sorted(maps.Keys(all)) {
		err := w.WriteHeader(&tar.Header{Name: "package/" + n, Mode: 0o644, Size: int64(len(all[n]))})
		if err == nil {
			_, err = w.Write([]byte(all[n]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	if w.Close() != nil || g.Close() != nil {
		t.Fatal("the package could not be packed")
	}

	sum := sha1.Sum(out.Bytes()) //nolint:gosec // the same
	file := fmt.Sprintf("/files/%s-%s.tgz", strings.ReplaceAll(name, "/", "_"), version)
	about["dist"] = map[string]string{"tarball": base + file, "shasum": hex.EncodeToString(sum[:])}
	text, err = json.Marshal(map[string]any{"name": name, "dist-tags": map[string]string{"latest": version},
		"versions": map[string]any{version: about}})
	if err != nil {
		t.Fatal(err)
	}

	x.mu.Lock()
	defer x.mu.Unlock()

	x.paths["/simple/"+name], x.paths[file] = text, out.Bytes()
}

// Programs of Node require and import packages of npm, also those with a scope. No script of a package is
// executed.
func TestPackagesOfNPM(t *testing.T) {
	a, x := startInstaller(t), newIndex(t)
	harness.Images.Load(t, a, "node")
	harness.Images.Load(t, a, "node-npm")
	x.npm(t, "left", "1.2.0", map[string]string{"index.js": "exports.pad = (s) => require('right').pad(s) + '<'\n"},
		map[string]string{"right": "^2.0.0"})
	x.npm(t, "right", "2.3.1", map[string]string{"index.js": "exports.pad = (s) => s + '>'\n"}, nil)
	x.npm(t, "@scope/one", "1.0.0", map[string]string{"index.js": "module.exports = 41\n"}, nil)
	asked := []string{"left>=1,<2", "@scope/one"}
	set, err := installPackages(a, t.Context(), x, "javascript", asked...)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(set.Installed, []string{"@scope/one==1.0.0", "left==1.2.0", "right==2.3.1"}) {
		t.Errorf("installed %q", set.Installed)
	}

	for name, source := range map[string]string{
		"main.js": "const { pad } = require('left')\nconsole.log(pad('x'), require('@scope/one') + 1, " +
			"require('fs').existsSync('/packages/executed'))\n",
		"main.mjs": "import { existsSync } from 'fs'\nimport left from 'left'\nimport one from '@scope/one'\n" +
			"console.log(left.pad('x'), one + 1, existsSync('/packages/executed'))\n",
	} {
		res := a.MustRun(t, api.Run{Language: "javascript", Source: api.Bytes(source), SourceName: name, Requirements: asked, Index: x.url})
		if string(res.Stdout) != "x>< 42 false\n" {
			t.Errorf("%s printed %q, %q", name, res.Stdout, res.Stderr)
		}
	}

	if _, err := installPackages(a, t.Context(), x, "javascript", "absent"); !api.HasCode(err, api.CodePackagesFailed) ||
		!strings.Contains(err.Error(), "404") {
		t.Errorf("an absent package: %v", err)
	}

	typed := api.Run{Language: "typescript", Source: api.Bytes("const one: number = require('@scope/one')\nconsole.log(one + 1)\n"),
		Requirements: asked, Index: x.url}
	if res := a.MustRun(t, typed); string(res.Stdout) != "42\n" { // the image is that of javascript, and so is the set
		t.Errorf("typescript: %s, %q, %q", res.Verdict, res.Stdout, res.Stderr)
	}
}

// makeGems is a program that writes gems and the parts of an index that gem install reads.
const makeGems = `
require "rubygems/package"
require "zlib"
require "digest"
def make(name, version, files, depends = {}, extensions = [])
  files.each { |file, text| FileUtils.mkdir_p(File.dirname(file)); File.write(file, text) }
  spec = Gem::Specification.new do |s|
    s.name, s.version, s.summary, s.authors, s.files = name, version, "x", ["x"], files.keys
    s.license, s.homepage, s.extensions = "MIT", "https://example.org/", extensions
    depends.each { |n, v| s.add_dependency(n, v) }
  end
  Gem::DefaultUserInteraction.use_ui(Gem::SilentUI.new) { Gem::Package.build(spec) }
  File.binwrite("#{name}-#{version}.gemspec.rz", Zlib::Deflate.deflate(Marshal.dump(spec)))
  needs = depends.map { |n, v| "#{n}:#{v}" }.join(",")
  File.write("#{name}.info", "---\n#{version} #{needs}|checksum:#{Digest::SHA256.file("#{name}-#{version}.gem").hexdigest}\n")
end
require "fileutils"
make("top", "1.0", {"lib/top.rb" => "require 'bottom'\nmodule Top; def self.f(x) = Bottom.f(x) + 1; end\n"}, {"bottom" => ">= 2"})
make("bottom", "2.5", {"lib/bottom.rb" => "module Bottom; def self.f(x) = x * 7; end\n"})
make("fastsum", "1.0", {
  "ext/fastsum/extconf.rb" => "require 'mkmf'\ncreate_makefile('fastsum')\n",
  "ext/fastsum/fastsum.c" => <<~C }, {}, ["ext/fastsum/extconf.rb"])
    #include <ruby.h>
    static VALUE sum(VALUE self, VALUE n) { long s = 0; for (long i = 1; i <= NUM2LONG(n); i++) s += i; return LONG2NUM(s); }
    void Init_fastsum(void) { rb_define_module_function(rb_define_module("Fastsum"), "sum", sum, 1); }
  C
`

// Programs of Ruby require gems, with what they depend on, and gems that were compiled.
func TestPackagesOfRuby(t *testing.T) {
	a, x := startInstaller(t), newIndex(t)
	harness.Images.Load(t, a, "ruby")
	harness.Images.Load(t, a, "ruby-gem")
	made := a.MustRun(t, api.Run{Language: "ruby", Source: api.Bytes(makeGems),
		Collect: api.Collect{Globs: []string{"*.gem", "*.rz", "*.info"}}})
	harness.WantVerdict(t, made, api.OK)
	x.mu.Lock()
	x.paths["/simple/versions"] = []byte("created_at: 2026-01-01T00:00:00Z\n---\n")
	for _, f := range made.Files {
		switch {
		case strings.HasSuffix(f.Name, ".gem"):
			x.paths["/simple/gems/"+f.Name] = f.Content
		case strings.HasSuffix(f.Name, ".rz"):
			x.paths["/simple/quick/Marshal.4.8/"+f.Name] = f.Content
		default:
			x.paths["/simple/info/"+strings.TrimSuffix(f.Name, ".info")] = f.Content
		}
	}

	x.url += "/"
	x.mu.Unlock()
	asked := []string{"top==1.0", "fastsum"}
	set, err := installPackages(a, t.Context(), x, "ruby", asked...)
	if err != nil {
		t.Fatalf("%v\n%v", err, x.taken)
	}
	if !slices.Equal(set.Installed, []string{"bottom==2.5", "fastsum==1.0", "top==1.0"}) {
		t.Errorf("installed %q", set.Installed)
	}

	res := a.MustRun(t, api.Run{Language: "ruby",
		Source:       api.Bytes("require 'top'\nrequire 'fastsum'\nrequire 'json'\nputs Top.f(6), Fastsum.sum(1000), JSON.generate([1])\n"),
		Requirements: asked, Index: x.url})
	if string(res.Stdout) != "43\n500500\n[1]\n" {
		t.Errorf("printed %q, %q", res.Stdout, res.Stderr)
	}
	if _, err := installPackages(a, t.Context(), x, "ruby", "absent"); !api.HasCode(err, api.CodePackagesFailed) ||
		!strings.Contains(err.Error(), "Could not find a valid gem 'absent'") {
		t.Errorf("an absent gem: %v", err)
	}
}
