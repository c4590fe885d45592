// Package peer is a driver's end of the protocol: JSON-RPC 2.0, one object a line, UTF-8,
// over standard input and output. Both sides call, and a side is called while it waits for
// its own call, so calls nest as hooks do. docs/protocol.md has every frame.
package peer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Protocol is the version that this package speaks.
const Protocol = 2

// Codes of JSON-RPC: what failed while it ran, and a method that does not exist.
const (
	failedCode   = -32000
	noMethodCode = -32601
)

// quiet is how long no frame goes out before a driver says that it has settled.
const quiet = 2 * time.Millisecond

// buffered is how much of what came is read at once: as much as a pipe holds, at most.
const buffered = 1 << 20

// Obj is a JSON object.
type Obj = map[string]any

// Function answers a call of the harness.
type Function func(params json.RawMessage) (any, error)

// Failure is the error of a reply. Data.Number is that of the harness's own exception, 0 for
// what the engine raised; Data.Kind is a stable name for what an engine itself can say.
type Failure struct {
	Code    int         `json:"code"`
	Message string      `json:"message"`
	Data    FailureData `json:"data"`
}

// FailureData says whose an error is.
type FailureData struct {
	Number    int64           `json:"number,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Name      string          `json:"name,omitempty"`  // of the type, inside what wraps it
	Place     any             `json:"place,omitempty"` // where, if it is a subject's
	Interrupt json.RawMessage `json:"interrupt,omitempty"`
}

// HarnessError is an exception of the harness on its way through the engine: it keeps its
// number, so that what comes out is what went in.
type HarnessError struct {
	Number    int64
	Text      string
	Interrupt json.RawMessage
}

func (e *HarnessError) Error() string { return e.Text }

// stack is what an engine puts behind the text of a panic that it caught: addresses and
// numbers that are others in each play, so that no two would be told alike.
var stack = regexp.MustCompile(`(?s),?\s*\nstack: goroutine \d+ .*?(\n-+\nnode path: |$)`)

// FailureOf tells an error of the engine; kind may be "".
func FailureOf(err error, kind string) *Failure {
	text := stack.ReplaceAllString(err.Error(), "$1")
	failure := &Failure{failedCode, text, FailureData{Kind: kind}}
	var known *HarnessError
	if errors.As(err, &known) {
		failure.Data.Number = known.Number
		return failure
	}
	failure.Data.Name = TypeOf(err)
	var placed *PlacedError
	if errors.As(err, &placed) {
		failure.Data.Place = placed.Place
	}
	return failure
}

// PlacedError says of an error on its way to the harness where it arose.
type PlacedError struct {
	error
	Place any
}

// Placed returns an error with its place.
func Placed(err error, place any) error { return &PlacedError{err, place} }

func (e *PlacedError) Unwrap() error { return e.error }

// TypeOf returns the bare name of the type of an error, inside what wraps it.
func TypeOf(err error) string {
	for {
		switch wrapper := err.(type) {
		case interface{ Unwrap() error }:
			if inner := wrapper.Unwrap(); inner != nil {
				err = inner
				continue
			}
		case interface{ Unwrap() []error }:
			if inner := wrapper.Unwrap(); len(inner) > 0 {
				err = inner[0]
				continue
			}
		}
		kind := reflect.TypeOf(err)
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		return kind.Name()
	}
}

type received struct {
	ID     *int64          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Failure        `json:"error"`
}

type request struct {
	Version string `json:"jsonrpc"`
	ID      int64  `json:"id,omitempty"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

type reply struct {
	Version string   `json:"jsonrpc"`
	ID      int64    `json:"id"`
	Result  any      `json:"result,omitempty"`
	Error   *Failure `json:"error,omitempty"`
}

// Peer is one end of a connection.
//
// It works in turns: it takes one frame, and takes the next when all that can run because of
// it has run. So what comes of a frame is always the same, and only what was said at the same
// time has no order of its own: it is sent in that of rank.
type Peer struct {
	// KindOf names what the engine says by an error of its own; "" if it says nothing.
	KindOf func(error) string

	functions map[string]Function
	in        *bufio.Reader
	out       io.Writer
	last      atomic.Int64 // of the numbers of own calls
	mu        sync.Mutex
	waiting   map[int64]chan received
	turn      []saying // what was said since the last frame came
	unsent    bytes.Buffer
	frames    int64         // that were said
	yielding  sync.Mutex    // who gives way
	calls     chan received // to goroutines that have answered one, and have room to run in
	wake      chan struct{} // the writer, which has something to do
	idle      atomic.Bool   // whether no frame is there that can be taken
}

// New returns a peer that answers these functions.
func New(in io.Reader, out io.Writer, functions map[string]Function) *Peer {
	return &Peer{
		KindOf:    func(error) string { return "" },
		functions: functions,
		in:        bufio.NewReaderSize(in, buffered),
		out:       out,
		waiting:   map[int64]chan received{},
		wake:      make(chan struct{}, 1),
		calls:     make(chan received),
	}
}

// Serve answers calls until the harness closes its end or asks for the end.
func (p *Peer) Serve() error {
	go p.write()
	for {
		if !p.hasLine() {
			p.idle.Store(true)
			p.wakeWriter()
			runtime.Gosched() // while this one reads, nobody else runs for a while
		}
		line, err := p.in.ReadBytes('\n')
		p.idle.Store(false)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		isOver, err := p.take(line)
		if err != nil || isOver {
			return err
		}
		p.endTurn()
	}
}

func (p *Peer) hasLine() bool {
	here, _ := p.in.Peek(p.in.Buffered())
	return bytes.IndexByte(here, '\n') >= 0
}

// take begins what a frame asks for; it tells whether that is the end.
func (p *Peer) take(line []byte) (isOver bool, err error) {
	var frame received
	if err := json.Unmarshal(line, &frame); err != nil {
		return false, fmt.Errorf("no frame: %w: %.80q", err, line)
	}
	switch {
	case frame.Method == "shutdown":
		if frame.ID != nil {
			p.say(aReply, 0, reply{"2.0", *frame.ID, Obj{}, nil})
		}
		p.endTurn()
		p.flush()
		return true, nil
	case frame.Method != "":
		select {
		case p.calls <- frame:
		default:
			go p.answers(frame)
		}
	case frame.ID != nil:
		p.resolve(frame)
	default:
		return false, fmt.Errorf("neither call nor reply: %.80q", line)
	}
	return false, nil
}

func (p *Peer) resolve(frame received) {
	p.mu.Lock()
	waiter := p.waiting[*frame.ID]
	delete(p.waiting, *frame.ID)
	p.mu.Unlock()
	if waiter != nil {
		waiter <- frame
	}
}

// Call asks the harness and waits for its answer, which is read into "into" unless that is
// nil.
func (p *Peer) Call(method string, params any, into any) error {
	return p.call(0, method, params, into)
}

// CallBeside does the same for what other goroutines may ask for at the same time, as they do
// for the calls of one answer: their calls go out as they themselves were started.
func (p *Peer) CallBeside(method string, params any, into any) error {
	return p.call(goroutine(), method, params, into)
}

func (p *Peer) call(place int64, method string, params any, into any) error {
	waiter := make(chan received, 1)
	id := p.last.Add(1)
	p.mu.Lock()
	p.waiting[id] = waiter
	p.mu.Unlock()
	p.say(aCall, place, request{"2.0", id, method, params})
	frame := <-waiter
	if frame.Error != nil {
		data := frame.Error.Data
		return &HarnessError{data.Number, frame.Error.Message, data.Interrupt}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(frame.Result, into)
}

// Tell sends a notification.
func (p *Peer) Tell(method string, params any) {
	p.say(aNotification, 0, request{"2.0", 0, method, params})
}

// answers is a goroutine that answers one call after the other.
func (p *Peer) answers(frame received) {
	for {
		p.answer(frame)
		frame = <-p.calls
	}
}

func (p *Peer) answer(frame received) {
	result, err := p.result(frame)
	if frame.ID == nil {
		return
	}
	if err != nil {
		failure := FailureOf(err, p.KindOf(err))
		if errors.Is(err, errNoMethod) {
			failure.Code = noMethodCode
		}
		p.say(aReply, 0, reply{"2.0", *frame.ID, nil, failure})
		return
	}
	if result == nil {
		result = Obj{}
	}
	p.say(aReply, 0, reply{"2.0", *frame.ID, result, nil})
}

var errNoMethod = errors.New("there is no method")

func (p *Peer) result(frame received) (result any, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	if frame.Method == "settle" {
		p.settle()
		return nil, nil
	}
	function := p.functions[frame.Method]
	if function == nil {
		return nil, fmt.Errorf("%w %q", errNoMethod, frame.Method)
	}
	return function(frame.Params)
}

// settle returns when nothing more goes out: all that can run has run, and 2 ms have passed
// in which no timer of the engine had anything to say.
func (p *Peer) settle() {
	for before := int64(-1); before != p.count(); {
		before = p.count()
		p.giveWay()
		time.Sleep(quiet)
		p.giveWay()
	}
}

func (p *Peer) count() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frames
}

func (p *Peer) say(kind, place int64, frame any) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(frame); err != nil {
		fatal(err)
	}
	p.mu.Lock()
	p.turn = append(p.turn, saying{kind, place, line.Bytes()})
	p.frames++
	p.mu.Unlock()
	if p.idle.Load() { // of itself, as a timer does: nothing came
		p.wakeWriter()
	}
}

func (p *Peer) wakeWriter() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// endTurn waits until all that can run has run, and puts what it said in its order.
func (p *Peer) endTurn() {
	p.giveWay()
	p.mu.Lock()
	defer p.mu.Unlock()
	inOrder(p.turn)
	for _, each := range p.turn {
		p.unsent.Write(each.line)
	}
	clear(p.turn)
	p.turn = p.turn[:0]
}

// write sends what there is to say. It is a goroutine of its own, so that frames are taken
// while the harness is not yet ready to read.
func (p *Peer) write() {
	for range p.wake {
		p.endTurn()
		p.flush()
	}
}

func (p *Peer) flush() {
	p.mu.Lock()
	lines := bytes.Clone(p.unsent.Bytes())
	p.unsent.Reset()
	p.mu.Unlock()
	if len(lines) == 0 {
		return
	}
	if _, err := p.out.Write(lines); err != nil {
		fatal(err)
	}
}

// fatal ends the driver: a frame that cannot be sent leaves somebody waiting for ever.
func fatal(err error) {
	fmt.Fprintln(os.Stderr, "driver: a frame cannot be sent:", err)
	os.Exit(1)
}
