package main

import (
	"bufio"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// Messages of the mirrord protocol (bincode) that the measurements need; numbers as in docs/protocol/wire.md.

func varint(dst []byte, v uint64) []byte {
	switch {
	case v <= 250:
		return append(dst, byte(v))
	case v < 1<<16:
		return binary.LittleEndian.AppendUint16(append(dst, 0xfb), uint16(v))
	case v < 1<<32:
		return binary.LittleEndian.AppendUint32(append(dst, 0xfc), uint32(v))
	default:
		return binary.LittleEndian.AppendUint64(append(dst, 0xfd), v)
	}
}

// size: bytes of the varint, value; 0 when bytes are missing.
func readVarint(b []byte) (uint64, int) {
	if len(b) == 0 {
		return 0, 0
	}
	switch first := b[0]; {
	case first <= 250:
		return uint64(first), 1
	case first == 0xfb && len(b) >= 3:
		return uint64(binary.LittleEndian.Uint16(b[1:])), 3
	case first == 0xfc && len(b) >= 5:
		return uint64(binary.LittleEndian.Uint32(b[1:])), 5
	case first == 0xfd && len(b) >= 9:
		return binary.LittleEndian.Uint64(b[1:]), 9
	}
	return 0, 0
}

func blob(dst, payload []byte) []byte { return append(varint(dst, uint64(len(payload))), payload...) }

const version = "1.29.0"

var (
	switchVersion        = append([]byte{0x0a, byte(len(version))}, version...)
	versionAnswer        = append([]byte{0x0b, byte(len(version))}, version...)
	readyForLogs         = []byte{0x0b}
	subscribe80          = []byte{2, 0, 0, 80}
	subscribed80         = []byte{2, 3, 0, 80}
	ping                 = []byte{7}
	outgoing      uint64 = 5
)

// Client: TcpOutgoing(Write).
func write(id uint64, payload []byte) []byte { return blob(varint([]byte{3, 1}, id), payload) }

// Daemon: TcpOutgoing(Read(Ok)).
func read(id uint64, payload []byte) []byte { return blob(varint([]byte{3, 1, 0}, id), payload) }

// Client: TcpSteal(Data).
func stealUp(id uint64, payload []byte) []byte { return blob(varint([]byte{2, 3}, id), payload) }

// Daemon: TcpSteal(Data).
func stealDown(id uint64, payload []byte) []byte { return blob(varint([]byte{2, 1}, id), payload) }

// Daemon: TcpSteal(NewConnectionV2); the peer's address tells the member.
func newConnection(id uint64, member int) []byte {
	return append(varint([]byte{2, 7}, id), 0, 10, 0, 0, byte(member), 80, 0xfb, 0x38, 0xc7, 0, 10, 0, 0, 5, 0)
}

// Client: FileRequest(Read).
func fileRead(size int) []byte { return varint([]byte{5, 2, 3}, uint64(size)) }

// Daemon: File(Read(Ok)).
func fileAnswer(payload []byte) []byte {
	return varint(blob([]byte{6, 1, 0}, payload), uint64(len(payload)))
}

// Length of the client message at the front of b, 0 when bytes are missing. Only the messages above.
func clientMessageLength(b []byte) (int, error) {
	skipBlob := func(at int) int {
		if at == 0 || at > len(b) {
			return 0
		}
		n, size := readVarint(b[at:])
		if size == 0 {
			return 0
		}
		return at + size + int(n)
	}
	skipVarint := func(at int) int {
		if at >= len(b) {
			return 0
		}
		_, size := readVarint(b[at:])
		if size == 0 {
			return 0
		}
		return at + size
	}
	if len(b) < 1 {
		return 0, nil
	}
	switch b[0] {
	case 7, 0x0b:
		return 1, nil
	case 0x0a:
		return skipBlob(1), nil
	}
	if len(b) < 2 {
		return 0, nil
	}
	switch [2]byte{b[0], b[1]} {
	case [2]byte{3, 1}, [2]byte{2, 3}:
		return skipBlob(skipVarint(2)), nil
	case [2]byte{2, 0}:
		return skipVarint(3), nil
	case [2]byte{5, 2}:
		if at := skipVarint(2); at > 0 {
			return skipVarint(at), nil
		}
		return 0, nil
	}
	return 0, fmt.Errorf("unexpected client message % x", b[:min(len(b), 16)])
}

// One side of a connection. raw: an agent's TCP stream without frames.
type side struct {
	net.Conn
	masks bool
	raw   bool

	mutex   sync.Mutex
	buffer  []byte
	from    int
	until   int
	learned []byte
	total   int
}

func newSide(conn net.Conn, masks, raw bool, rest []byte) *side {
	space := 512 * 1024
	if *traffic == "idle" {
		space = 4096
	}
	s := &side{Conn: conn, masks: masks, raw: raw, buffer: make([]byte, space)}
	s.until = copy(s.buffer, rest)
	return s
}

func header(dst []byte, n int, masked bool) []byte {
	bit := byte(0)
	if masked {
		bit = 0x80
	}
	switch {
	case n < 126:
		return append(dst, 0x82, bit|byte(n))
	case n < 65536:
		return binary.BigEndian.AppendUint16(append(dst, 0x82, bit|126), uint16(n))
	default:
		return binary.BigEndian.AppendUint64(append(dst, 0x82, bit|127), uint64(n))
	}
}

// Appends a message as it goes onto this side's wire, under a fresh mask where one is due.
func (s *side) frame(dst, message []byte) []byte {
	if s.raw {
		return append(dst, message...)
	}
	dst = header(dst, len(message), s.masks)
	if !s.masks {
		return append(dst, message...)
	}
	var mask [4]byte
	rand.Read(mask[:])
	dst = append(dst, mask[:]...)
	at := len(dst)
	dst = append(dst, message...)
	for i := range message {
		dst[at+i] ^= mask[i&3]
	}
	return dst
}

func (s *side) send(message []byte) error { return s.sendFramed(s.frame(nil, message)) }

func (s *side) sendFramed(bytes []byte) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	_, err := s.Write(bytes)
	return err
}

func (s *side) fill() error {
	if s.from == s.until {
		s.from, s.until = 0, 0
	} else if s.until == len(s.buffer) {
		s.until = copy(s.buffer, s.buffer[s.from:s.until])
		s.from = 0
		if s.until == len(s.buffer) {
			s.buffer = append(s.buffer, make([]byte, len(s.buffer))...)
		}
	}
	n, err := s.Read(s.buffer[s.until:])
	s.until += n
	if n > 0 {
		return nil
	}
	return err
}

func (s *side) need(n int) error {
	for s.until-s.from < n {
		if err := s.fill(); err != nil {
			return err
		}
	}
	return nil
}

var errClosed = errors.New("close frame")

type frameHead struct {
	op     byte
	head   int // bytes before the payload
	length int
	mask   [4]byte
	masked bool
}

func (s *side) head() (frameHead, error) {
	var h frameHead
	if err := s.need(2); err != nil {
		return h, err
	}
	b := s.buffer[s.from:s.until]
	h.op, h.masked, h.length, h.head = b[0]&15, b[1]&0x80 != 0, int(b[1]&0x7f), 2
	if b[0]&0x80 == 0 || h.op == 0 {
		return h, errors.New("a fragmented message")
	}
	if h.length == 126 {
		h.head = 4
	} else if h.length == 127 {
		h.head = 10
	}
	if h.masked {
		h.head += 4
	}
	if err := s.need(h.head); err != nil {
		return h, err
	}
	b = s.buffer[s.from:s.until]
	switch h.length {
	case 126:
		h.length = int(binary.BigEndian.Uint16(b[2:]))
	case 127:
		h.length = int(binary.BigEndian.Uint64(b[2:]))
	}
	if h.masked {
		copy(h.mask[:], b[h.head-4:])
	}
	return h, nil
}

// The next whole message, unmasked in place; valid until the next call. WebSocket pings are answered here.
func (s *side) next() ([]byte, error) {
	if s.raw {
		for {
			n, err := clientMessageLength(s.buffer[s.from:s.until])
			if err != nil {
				return nil, err
			}
			if n > 0 {
				if err := s.need(n); err != nil {
					return nil, err
				}
				message := s.buffer[s.from : s.from+n]
				s.from += n
				return message, nil
			}
			if err := s.fill(); err != nil {
				return nil, err
			}
		}
	}
	for {
		h, err := s.head()
		if err != nil {
			return nil, err
		}
		if err := s.need(h.head + h.length); err != nil {
			return nil, err
		}
		message := s.buffer[s.from+h.head : s.from+h.head+h.length]
		s.from += h.head + h.length
		if h.masked {
			for i := range message {
				message[i] ^= h.mask[i&3]
			}
		}
		switch h.op {
		case 2:
			return message, nil
		case 8:
			return nil, errClosed
		case 9:
			if err := s.pong(message); err != nil {
				return nil, err
			}
		}
	}
}

func (s *side) pong(data []byte) error {
	frame := s.frame(nil, data)
	frame[0] = 0x8a
	return s.sendFramed(frame)
}

// Counts messages of at least `least` bytes as they pass, without looking into them; others are handed to `control`.
// With `peek`, calls it with the first bytes of each instead of skipping equal ones.
func (s *side) count(least int, counted func(n int), control func([]byte) error, peek func([]byte)) error {
	for {
		if s.raw {
			n, err := clientMessageLength(s.buffer[s.from:s.until])
			if err != nil {
				return err
			}
			if n > 0 && n < least {
				message, err := s.next()
				if err != nil {
					return err
				}
				if err := control(message); err != nil {
					return err
				}
				continue
			}
			if n > 0 {
				if err := s.skip(n); err != nil {
					return err
				}
				counted(1 + s.skipEqual(n, min(n, 8)))
				continue
			}
			if err := s.fill(); err != nil {
				return err
			}
			continue
		}
		h, err := s.head()
		if err != nil {
			return err
		}
		if h.op != 2 || h.length < least {
			message, err := s.next()
			if err != nil {
				return err
			}
			if err := control(message); err != nil {
				return err
			}
			continue
		}
		if peek != nil {
			if err := s.need(h.head + 16); err != nil {
				return err
			}
			peek(s.buffer[s.from+h.head : s.from+h.head+16])
		}
		plain := h.head
		if h.masked {
			plain -= 4
		}
		total := h.head + h.length
		if err := s.skip(total); err != nil {
			return err
		}
		n := 1
		if peek == nil {
			n += s.skipEqual(total, plain)
		}
		counted(n)
	}
}

// Skips n bytes, of which the first few are in the buffer, and remembers those.
func (s *side) skip(n int) error {
	s.learned = append(s.learned[:0], s.buffer[s.from:min(s.from+16, s.until)]...)
	for n > 0 {
		have := min(n, s.until-s.from)
		s.from += have
		n -= have
		if n > 0 {
			if err := s.fill(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Skips whole messages in the buffer that begin like the last one.
func (s *side) skipEqual(total, same int) int {
	if same > len(s.learned) {
		return 0
	}
	n := 0
	if same == 2 {
		a, b := s.learned[0], s.learned[1]
		for s.from+total <= s.until && s.buffer[s.from] == a && s.buffer[s.from+1] == b {
			s.from += total
			n++
		}
		return n
	}
	want := string(s.learned[:same])
	for s.from+total <= s.until && string(s.buffer[s.from:s.from+same]) == want {
		s.from += total
		n++
	}
	return n
}

const guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
const subprotocol = "v4.channel.k8s.io"

func acceptWebSocket(conn net.Conn) (*side, error) {
	r := bufio.NewReader(conn)
	request, err := http.ReadRequest(r)
	if err != nil {
		return nil, err
	}
	sum := sha1.Sum([]byte(request.Header.Get("Sec-WebSocket-Key") + guid))
	_, err = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]), subprotocol)
	rest, _ := r.Peek(r.Buffered())
	return newSide(conn, false, false, rest), err
}

func dialWebSocket(address, path string, secure bool) (*side, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	if secure {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: %s\r\n\r\n", path, address, subprotocol)
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != 101 {
		body, _ := io.ReadAll(response.Body)
		return nil, fmt.Errorf("status %s: %s", response.Status, strings.TrimSpace(string(body)))
	}
	rest, _ := r.Peek(r.Buffered())
	return newSide(conn, true, false, rest), nil
}
