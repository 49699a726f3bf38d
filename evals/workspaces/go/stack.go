// Package stack has a stack of values.
package stack

// Stack is last in, first out.
type Stack[T any] struct{ items []T }

// Push puts a value on top.
func (s *Stack[T]) Push(item T) { s.items = append(s.items, item) }

// Pop takes the value from the top; false if there is none.
func (s *Stack[T]) Pop() (T, bool) {
	last := len(s.items) - 1
	item := s.items[last]
	s.items = s.items[:last]
	return item, true
}
