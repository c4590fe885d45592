package peer

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
)

// Of what is said in one turn, what the engine tells comes first, since it did not wait for
// it; then what it was asked for, and then what it asks for.
const (
	aNotification int64 = iota
	aReply
	aCall
)

// saying is a frame that will go out. place is that of a call among those of its turn: the
// number of its goroutine, which is the order in which they were started.
type saying struct {
	kind, place int64
	line        []byte
}

func inOrder(turn []saying) {
	slices.SortStableFunc(turn, func(a, b saying) int {
		if a.kind != b.kind {
			return int(a.kind - b.kind)
		}
		return int(a.place - b.place)
	})
}

// goroutine returns the number of the goroutine that runs. Those of one processor are
// numbered as they are started: the calls of one answer in their order, whichever of them
// the scheduler lets run first.
func goroutine() int64 {
	var text [64]byte
	words := bytes.Fields(text[:runtime.Stack(text[:], false)])
	number, _ := strconv.ParseInt(string(words[1]), 10, 64)
	return number
}

// Turns of the scheduler that are taken for enough by a Go before 1.26, which does not say
// how many goroutines can run.
const turns = 32

const runnable = "/sched/goroutines/runnable:goroutines"

// spared is how much may be allocated until it is worth to look for what is free.
const spared = 64 << 20

// most is how much is allocated before the runtime looks for what is free by itself.
const most = 2 << 30

// OneAtATime has goroutines run one after the other, and the collector run only between
// agents: it holds up whoever allocates, which would look like all that can run having run.
func OneAtATime() {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(most)
}

// Collect frees what is no longer used, if there is much of it.
func Collect() {
	asked := [...]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(asked[:])
	if asked[0].Value.Kind() == metrics.KindUint64 && asked[0].Value.Uint64() > spared {
		runtime.GC()
	}
}

// giveWay returns when all others that can run have run, of one processor. One does so at a
// time: two would wait for each other.
func (p *Peer) giveWay() {
	p.yielding.Lock()
	defer p.yielding.Unlock()
	asked := [...]metrics.Sample{{Name: runnable}}
	metrics.Read(asked[:])
	if asked[0].Value.Kind() != metrics.KindUint64 {
		for range turns {
			runtime.Gosched()
		}
		return
	}
	for asked[0].Value.Uint64() > 0 {
		runtime.Gosched()
		metrics.Read(asked[:])
	}
}
