package stack

import "testing"

func TestLastInFirstOut(t *testing.T) {
	var s Stack[int]
	s.Push(1)
	s.Push(2)
	if item, ok := s.Pop(); item != 2 || !ok {
		t.Fatalf("got %v, %v", item, ok)
	}
}

func TestEmpty(t *testing.T) {
	var s Stack[int]
	if _, ok := s.Pop(); ok {
		t.Fatal("an empty stack gave a value")
	}
}
