package peer

import (
	"fmt"
	"sync"
)

// Refs hands out numbers for what stays in this process. They are those of one agent, and
// go with it.
type Refs struct {
	mu      sync.Mutex
	last    int64
	values  map[int64]any
	numbers map[any]int64
}

// NewRefs returns an empty table.
func NewRefs() *Refs {
	return &Refs{values: map[int64]any{}, numbers: map[any]int64{}}
}

// Put numbers a value anew.
func (r *Refs) Put(value any) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.put(value)
}

// Of returns the number of a pointer: the same one each time.
func (r *Refs) Of(pointer any) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if number, ok := r.numbers[pointer]; ok {
		return number
	}
	number := r.put(pointer)
	r.numbers[pointer] = number
	return number
}

func (r *Refs) put(value any) int64 {
	r.last++
	r.values[r.last] = value
	return r.last
}

// Drop forgets a value that Put numbered.
func (r *Refs) Drop(number int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.values, number)
}

// Get returns the value of that type under a number, or an error that names both.
func Get[T any](r *Refs, number int64) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	value, ok := r.values[number].(T)
	if !ok {
		return value, fmt.Errorf("reference %d is no %T", number, value)
	}
	return value, nil
}
