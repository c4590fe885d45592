//go:build !linux

package peer

import (
	"io"
	"os"
)

// Standard returns standard input and output.
func Standard() (io.Reader, io.Writer) { return os.Stdin, os.Stdout }
