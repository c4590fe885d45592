package peer

import (
	"io"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// Standard returns standard input and output. If they are pipes nobody waits in the kernel
// for them: the runtime would give away the processor, and wake a thread that watches over
// it, at each frame. That costs more than all else that a frame does.
func Standard() (io.Reader, io.Writer) {
	in, isPipe := pipeOf(0, "in")
	out, alsoIsPipe := pipeOf(1, "out")
	if !isPipe || !alsoIsPipe {
		return os.Stdin, os.Stdout
	}
	return in, out
}

// pipe is one end, whose file nothing else uses.
type pipe struct {
	file *os.File
	conn syscall.RawConn
}

func pipeOf(descriptor int, name string) (*pipe, bool) {
	var about syscall.Stat_t
	if syscall.Fstat(descriptor, &about) != nil || about.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return nil, false
	}
	if syscall.SetNonblock(descriptor, true) != nil {
		return nil, false
	}
	file := os.NewFile(uintptr(descriptor), name)
	conn, err := file.SyscallConn()
	return &pipe{file, conn}, err == nil
}

func (p *pipe) Read(into []byte) (count int, err error) {
	failed := p.conn.Read(func(descriptor uintptr) bool {
		count, err = transfer(syscall.SYS_READ, descriptor, into)
		return err != syscall.EAGAIN
	})
	if failed != nil {
		return 0, failed
	}
	if count == 0 && err == nil {
		err = io.EOF
	}
	return count, err
}

func (p *pipe) Write(from []byte) (written int, err error) {
	failed := p.conn.Write(func(descriptor uintptr) bool {
		for written < len(from) {
			var count int
			count, err = transfer(syscall.SYS_WRITE, descriptor, from[written:])
			written += count
			if err != nil {
				break
			}
		}
		return err != syscall.EAGAIN
	})
	if failed != nil {
		err = failed
	}
	return written, err
}

// transfer reads or writes what can be at once, without a word to the scheduler.
func transfer(call, descriptor uintptr, data []byte) (int, error) {
	for {
		count, _, code := syscall.RawSyscall(call, descriptor,
			uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)))
		runtime.KeepAlive(data)
		switch code {
		case 0:
			return int(count), nil
		case syscall.EINTR:
		default:
			return 0, code
		}
	}
}
