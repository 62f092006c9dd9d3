package simulation_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
)

// What is drawn is made of names and instants, and not of who was scheduled first.

// mix makes one number of several (the finalizer of SplitMix64, for each).
func mix(of ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, n := range of {
		h = (h ^ n) + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

// text is a number of a text (FNV-1a).
func text(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// diceOf is a source of its own for somebody, so that what he draws does not depend on
// what others have drawn.
func diceOf(seed uint64, name string) *rand.Rand { return rand.New(rand.NewPCG(seed, text(name))) }

// places remembers what the places in the program are called.
var places sync.Map // of uintptr to uint64

// caller is a number of the functions that have led here. It names and does not count
// places, so that it stays when lines move.
func caller() uint64 {
	const depth = 32
	var stack [depth]uintptr
	h := uint64(0)
	for _, pc := range stack[:runtime.Callers(2, stack[:])] {
		n, known := places.Load(pc)
		if !known {
			n = uint64(0)
			if f := runtime.FuncForPC(pc - 1); f != nil {
				n = text(f.Name())
			}
			places.Store(pc, n)
		}
		named, _ := n.(uint64)
		h = mix(h, named)
	}
	return h
}
