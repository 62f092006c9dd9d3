package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"strings"
)

// snapshot is what a database file says together with its write-ahead log, read
// without SQLite and therefore without changing anything: opening a database the
// usual way creates files beside it, replays the log and, at the end, moves it
// into the file. It is an io.ReaderAt of the database as SQLite would see it.
type snapshot struct {
	file, log *os.File // log is nil when there is none
	fileSize  int64
	pageSize  int64
	pages     int64
	// frames says where in the log the latest committed version of a page is.
	frames map[int64]int64
}

// The file formats: https://sqlite.org/fileformat2.html.
const (
	headerMagic    = "SQLite format 3\x00"
	headerBytes    = 100
	walHeaderBytes = 32
	frameBytes     = 24
	walMagic       = 0x377f0682 // its last bit says in which order checksums are taken
	walVersion     = 3007000
)

// readSnapshot opens the database at path. An error that matches ErrCorrupt says
// what is wrong with it.
func readSnapshot(path string) (*snapshot, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s := &snapshot{file: file, frames: map[int64]int64{}}
	if err := s.read(path); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *snapshot) read(path string) error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	s.fileSize = info.Size()
	var h [headerBytes]byte
	if n, err := s.file.ReadAt(h[:], 0); err != nil {
		return fmt.Errorf("%w: %s has %d bytes, a database has more (%w)", ErrCorrupt, path, n, err)
	}
	if !strings.HasPrefix(string(h[:]), headerMagic) {
		return fmt.Errorf("%w: %s is not a database", ErrCorrupt, path)
	}
	s.pageSize = int64(binary.BigEndian.Uint16(h[16:]))
	if s.pageSize == 1 {
		s.pageSize = 64 << 10
	}
	if s.pageSize < 512 || s.pageSize&(s.pageSize-1) != 0 {
		return fmt.Errorf("%w: %s claims pages of %d bytes", ErrCorrupt, path, s.pageSize)
	}
	s.pages = int64(binary.BigEndian.Uint32(h[28:]))
	if err := s.readLog(path + "-wal"); err != nil {
		return err
	}
	return s.complete(path)
}

// complete checks that each page is in the file or in the log.
func (s *snapshot) complete(path string) error {
	last := s.pages
	for last > 0 {
		if _, logged := s.frames[last]; !logged {
			break
		}
		last--
	}
	if s.pages == 0 || last*s.pageSize > s.fileSize {
		return fmt.Errorf("%w: %s has %d bytes and should have %d: its end is missing", ErrCorrupt, path, s.fileSize, last*s.pageSize)
	}
	return nil
}

// readLog finds the frames of committed transactions. A log ends where a
// checksum fails: what follows was being written when the process died.
func (s *snapshot) readLog(path string) error {
	var err error
	if s.log, err = os.Open(path); errors.Is(err, fs.ErrNotExist) {
		s.log = nil
		return nil
	} else if err != nil {
		return err
	}
	var h [walHeaderBytes]byte
	if ok, err := readFull(s.log, h[:], 0); !ok || err != nil {
		return err
	}
	magic := binary.BigEndian.Uint32(h[0:])
	sum := walSum{order: binary.LittleEndian}
	if magic&1 == 1 {
		sum.order = binary.BigEndian
	}
	sum.add(h[:24])
	if magic&^1 != walMagic || binary.BigEndian.Uint32(h[4:]) != walVersion || !sum.is(h[24:]) ||
		int64(binary.BigEndian.Uint32(h[8:])) != s.pageSize {
		return nil // SQLite takes such a log for empty
	}
	frame := make([]byte, frameBytes+s.pageSize)
	pending := map[int64]int64{}
	for off := int64(walHeaderBytes); ; off += int64(len(frame)) {
		if ok, err := readFull(s.log, frame, off); !ok || err != nil {
			return err
		}
		sum.add(frame[:8])
		sum.add(frame[frameBytes:])
		if string(frame[8:16]) != string(h[16:24]) || !sum.is(frame[16:24]) {
			return nil
		}
		pending[int64(binary.BigEndian.Uint32(frame))] = off + frameBytes
		if size := binary.BigEndian.Uint32(frame[4:]); size != 0 { // a commit
			s.pages = int64(size)
			maps.Copy(s.frames, pending)
			clear(pending)
		}
	}
}

// Size implements ioutil.SizeReaderAt.
func (s *snapshot) Size() (int64, error) { return s.pages * s.pageSize, nil }

// ReadAt implements io.ReaderAt. SQLite reads a page at a time, or the header.
func (s *snapshot) ReadAt(p []byte, off int64) (int, error) {
	page, within := off/s.pageSize+1, off%s.pageSize
	n := min(int64(len(p)), s.pageSize-within)
	if page > s.pages {
		return 0, io.EOF
	}
	var err error
	if at, logged := s.frames[page]; logged {
		_, err = s.log.ReadAt(p[:n], at+within)
	} else {
		_, err = s.file.ReadAt(p[:n], off)
	}
	if err != nil {
		return 0, err
	}
	// The header says that there is a log. Whoever reads this view has it already.
	for i := range p[:n] {
		if at := off + int64(i); at == 18 || at == 19 {
			p[i] = 1
		} else if at > 19 {
			break
		}
	}
	if n == int64(len(p)) {
		return int(n), nil
	}
	more, err := s.ReadAt(p[n:], off+n)
	return int(n) + more, err
}

func (s *snapshot) close() error {
	if s.log == nil {
		return s.file.Close()
	}
	return errors.Join(s.file.Close(), s.log.Close())
}

// readFull fills p, or says that the file ends before.
func readFull(r io.ReaderAt, p []byte, off int64) (bool, error) {
	_, err := r.ReadAt(p, off)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

// walSum is the running checksum of a write-ahead log.
type walSum struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

func (w *walSum) add(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		w.s0 += w.order.Uint32(b) + w.s1
		w.s1 += w.order.Uint32(b[4:]) + w.s0
	}
}

func (w *walSum) is(b []byte) bool {
	return w.s0 == binary.BigEndian.Uint32(b) && w.s1 == binary.BigEndian.Uint32(b[4:])
}
