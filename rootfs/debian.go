package rootfs

import (
	"context"
	"errors"
	"io"
)

func buildDebian(ctx context.Context, r Recipe, out io.Writer, o BuildOptions) error {
	return errors.New("not yet")
}
