package archive

import (
	"os"
	"testing"

	"github.com/brig-sandbox/brig/rootfs/archive/archivetest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == AdmitArg {
		os.Exit(AdmitMain(os.Stdin, os.Stdout))
	}
	if len(os.Args) == 2 && os.Args[1] == "probe" {
		os.Exit(probeMain())
	}
	os.Exit(m.Run())
}

type members = archivetest.Members

var (
	file, dir, symlink, hardlink = archivetest.File, archivetest.Dir, archivetest.Symlink, archivetest.Hardlink
	tarOf, gzipped               = archivetest.Tar, archivetest.Gzip
)
