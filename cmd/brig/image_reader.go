package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/rootfs/oci"
)

// imageReaderName is the hidden command that reads registries and archives of layers, without
// privilege, for brig rootfs pull and import.
const imageReaderName = "image-reader"

func imageReaderCommand(c *cli) *cobra.Command {
	k, _ := newCommand(imageReaderName, `
Read an image for brig rootfs pull. It is started by brig alone.`)
	return c.does(k, func() int { return oci.ChildMain(os.Stdin, os.Stdout) })
}

// nobody is the user that reads images if root itself called brig, without sudo.
const nobody = 65534

// A reader is the user as which images are read.
type reader struct {
	credential *syscall.Credential // nil: the user of this process
	home       string
	cache      string // directory for downloads
	ownCache   bool   // we make it for the reader
}

// chooseReader chooses who reads images: never root. For root it is the user who called sudo, with that
// user's credentials for registries; or nobody.
func (c *cli) chooseReader() (reader, error) {
	if os.Geteuid() != 0 {
		return reader{home: c.env("HOME"), cache: filepath.Join(cacheDir(), "blobs")}, nil
	}
	uid, err := strconv.ParseUint(c.env("SUDO_UID"), 10, 32)
	if err == nil && uid != 0 {
		if u, err := user.LookupId(strconv.FormatUint(uid, 10)); err == nil {
			return readerOf(u)
		}
	}
	return reader{
		credential: &syscall.Credential{Uid: nobody, Gid: nobody}, home: "/nonexistent",
		cache: filepath.Join(cacheDir(), "blobs"), ownCache: true,
	}, nil
}

func readerOf(u *user.User) (reader, error) {
	r := reader{home: u.HomeDir, cache: filepath.Join(u.HomeDir, ".cache", "brig", "blobs")}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
	if err = errors.Join(err, gerr); err != nil {
		return r, err
	}
	r.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	groups, err := u.GroupIds()
	for _, g := range groups {
		if n, err := strconv.ParseUint(g, 10, 32); err == nil && n != 0 {
			r.credential.Groups = append(r.credential.Groups, uint32(n))
		}
	}
	return r, err
}

// makeCache makes the directory for nobody's downloads. Only root can write to the directory above it.
func (r reader) makeCache() error {
	if !r.ownCache {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(r.cache), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(r.cache, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return os.Lchown(r.cache, int(r.credential.Uid), int(r.credential.Gid))
}

// passedOn are the variables that the reader gets.
var passedOn = []string{
	"PATH", "LANG", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
}

// credentialsFile is the first of the files in which docker and podman keep a user's credentials.
func (c *cli) credentialsFile() string {
	home := c.env("HOME")
	var files []string
	add := func(dir string, more ...string) {
		if dir != "" {
			files = append(files, filepath.Join(append([]string{dir}, more...)...))
		}
	}
	add(c.env("DOCKER_CONFIG"), "config.json")
	add(home, ".docker", "config.json")
	add(c.env("REGISTRY_AUTH_FILE"))
	add(c.env("XDG_RUNTIME_DIR"), "containers", "auth.json")
	add(home, ".config", "containers", "auth.json")
	i := slices.IndexFunc(files, func(name string) bool {
		info, err := os.Stat(name)
		return err == nil && info.Mode().IsRegular()
	})
	if i < 0 {
		return ""
	}
	return files[i]
}

// rootCredentials returns a file in memory with root's own credentials: nobody cannot read root's files.
func (c *cli) rootCredentials() (*os.File, error) {
	name := c.credentialsFile()
	if name == "" {
		return nil, nil
	}
	text, err := readInput(name, maxTextFile)
	if err != nil {
		return nil, err
	}
	n, err := unix.MemfdCreate("credentials", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(n), "credentials")
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(0o444)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// An imageReader is a running reader.
type imageReader struct {
	*oci.Receiver
	cmd *exec.Cmd
	in  io.Closer
}

// startReader starts the process that reads an image, and tells it what to read. file may be nil.
func (c *cli) startReader(ctx context.Context, r oci.Request, file *os.File) (_ *imageReader, err error) {
	who, err := c.chooseReader()
	r.Cache = "/var/tmp" // for a file that is uncompressed
	if err == nil && r.Reference != "" {
		r.Cache = who.cache
		err = who.makeCache()
	}
	if err != nil {
		return nil, fmt.Errorf("read image: %w", err)
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", imageReaderName)
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = "/", c.stderr, 5*time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who.credential}
	cmd.Env = []string{"HOME=" + who.home}
	for _, name := range passedOn {
		if v := c.env(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	if file == nil {
		if file, err = os.Open(os.DevNull); err != nil {
			return nil, err
		}
		defer file.Close()
	}
	cmd.ExtraFiles = []*os.File{file} // oci.FileFD
	if who.ownCache && r.Reference != "" {
		secrets, err := c.rootCredentials()
		if err != nil {
			return nil, fmt.Errorf("read the credentials for registries: %w", err)
		}
		if secrets != nil {
			defer secrets.Close()
			cmd.ExtraFiles = append(cmd.ExtraFiles, secrets)
			cmd.Env = append(cmd.Env, "DOCKER_CONFIG=", fmt.Sprintf("REGISTRY_AUTH_FILE=/proc/self/fd/%d", oci.FileFD+1))
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the process that reads the image: %w", err)
	}
	p := &imageReader{oci.NewReceiver(out, in), cmd, in}
	if err := p.Send(r); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// close ends the reader and waits for it. What it had to say was received before.
func (p *imageReader) close() error {
	err := p.in.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	if kerr := p.cmd.Process.Kill(); kerr != nil && !errors.Is(kerr, os.ErrProcessDone) {
		err = errors.Join(err, kerr)
	}
	var exit *exec.ExitError
	if werr := p.cmd.Wait(); werr != nil && !errors.As(werr, &exit) && !errors.Is(werr, exec.ErrWaitDelay) && !errors.Is(werr, context.Canceled) {
		err = errors.Join(err, werr)
	}
	return err
}
