// relaygen is both ends of a relay under test in one process: the members (WebSocket servers or raw agents) and the client.
// One invocation is one measurement; it prints one line of JSON. Started by test/bench/relay.ts.
package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	membersFlag = flag.String("members", "127.0.0.1:14101", "addresses to listen on, one per member; the first is the default")
	raw         = flag.Bool("raw", false, "members are raw agents (TCP without frames)")
	url         = flag.String("url", "127.0.0.1:14101/x", "the relay: host:port/path")
	secure      = flag.Bool("tls", false, "TLS on both sides")
	certs       = flag.String("certs", "", "folder for tls.crt and tls.key")
	traffic     = flag.String("traffic", "up", "up, down, steal-up, steal-down, echo, file, ping, idle, both")
	size        = flag.Int("size", 1024, "payload bytes of a message")
	batch       = flag.Int("batch", 128*1024, "bytes in one write of the sender; 0: one message per write")
	warm        = flag.Duration("warm", 700*time.Millisecond, "not counted")
	length      = flag.Duration("time", 2*time.Second, "counted")
	window      = flag.Int("window", 1, "requests under way at once (echo, file, ping)")
	warmCalls   = flag.Int("warm-calls", 3000, "round trips that are not counted (echo with window 1)")
	calls       = flag.Int("calls", 20000, "round trips that are counted (echo with window 1)")
	pace        = flag.Duration("pace", 0, "pause between two round trips (echo with window 1)")
	proxyPid    = flag.Int("proxy-pid", 0, "process whose CPU time is read")
	check       = flag.Bool("check", false, "read every byte of every message")
	count       = flag.Int("count", 2000, "messages with -check")
	slow        = flag.Int("slow", -1, "member that reads slowly")
	slowRate    = flag.Int("slow-rate", 0, "bytes per second that it reads; 0: nothing")
	only        = flag.Int("only", -1, "steal-up: to connections of this member only")
	buckets     = flag.Duration("buckets", 0, "report the counts of each such interval too")
	clients     = flag.Int("clients", 1, "up, down, steal-*: client connections at once")
	sessions    = flag.Int("sessions", 1, "idle: client connections")
	hold        = flag.Duration("hold", 30*time.Second, "idle: how long")
)

type result struct {
	Traffic  string           `json:"traffic"`
	Size     int              `json:"size"`
	Seconds  float64          `json:"seconds"`
	Messages int64            `json:"messages"`
	MBps     float64          `json:"MBps"`
	ProxyCpu float64          `json:"proxyCpu"` // seconds per second
	OwnCpu   float64          `json:"ownCpu"`
	Foreign  float64          `json:"foreign"` // what others used
	CpuPerGB float64          `json:"cpuPerGB"`
	Per      []int64          `json:"per,omitempty"`
	Buckets  [][]int64        `json:"buckets,omitempty"`
	Latency  map[string]int64 `json:"latencyNs,omitempty"`
	Note     string           `json:"note,omitempty"`
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "relaygen:", err)
		os.Exit(1)
	}
}

func proxyCpu() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", *proxyPid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return float64(user+system) / 100
}

// CPU seconds of the whole machine that were not idle.
func busyCpu() float64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	sum := 0
	for i, field := range strings.Fields(line)[1:9] {
		n, _ := strconv.Atoi(field)
		if i != 3 && i != 4 {
			sum += n
		}
	}
	return float64(sum) / 100
}

func ownCpu() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func certificate() (tls.Certificate, error) {
	cert, key := filepath.Join(*certs, "tls.crt"), filepath.Join(*certs, "tls.key")
	if _, err := os.Stat(cert); err != nil {
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return tls.Certificate{}, err
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "relay"}, NotAfter: time.Now().Add(240 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
		if err != nil {
			return tls.Certificate{}, err
		}
		keyDer, _ := x509.MarshalPKCS8PrivateKey(private)
		os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDer}), 0o600)
	}
	return tls.LoadX509KeyPair(cert, key)
}

type member struct {
	index  int
	got    atomic.Int64
	link   chan *side // the connection under test
	steals bool
	slow   bool
	verify func([]byte) error
}

// A slow reader: what has not been read stays in the kernel's buffers.
type throttled struct{ net.Conn }

func (t throttled) Read(b []byte) (int, error) {
	if *slowRate == 0 {
		select {}
	}
	if len(b) > 16384 {
		b = b[:16384]
	}
	n, err := t.Conn.Read(b)
	time.Sleep(time.Duration(float64(n) / float64(*slowRate) * 1e9))
	return n, err
}

var throttle atomic.Bool

func (m *member) control(s *side, answer []byte) func([]byte) error {
	return func(message []byte) error {
		switch message[0] {
		case 0x0a:
			return s.send(versionAnswer)
		case 7:
			return s.send(ping)
		case 5:
			return s.send(answer)
		case 2:
			if message[1] == 0 {
				if err := s.send(subscribed80); err != nil {
					return err
				}
				return s.send(newConnection(memberId, m.index))
			}
		case 3:
			if message[1] == 1 {
				return s.sendFramed(answer)
			}
		}
		return nil
	}
}

// What members call their connection: not what the client's first ones are called, so that ids must be mapped.
const memberId = 7

func (m *member) serve(conn net.Conn, payload []byte) error {
	var s *side
	if *raw {
		s = newSide(conn, false, true, nil)
	} else {
		accepted, err := acceptWebSocket(conn)
		if err != nil {
			return err
		}
		s = accepted
	}
	if m.link != nil {
		select {
		case m.link <- s:
		default:
		}
	}
	var answer []byte
	least := *size
	switch *traffic {
	case "echo":
		answer = s.frame(nil, read(outgoing, payload))
		least = 1 << 30
	case "file":
		answer = fileAnswer(payload)
		least = 1 << 30
	case "ping", "idle", "down", "steal-down":
		least = 1 << 30
	}
	control := m.control(s, answer)
	if *check {
		for {
			message, err := s.next()
			if err != nil {
				return err
			}
			if len(message) >= *size && least < 1<<30 {
				if err := m.verify(message); err != nil {
					return err
				}
				m.got.Add(1)
			} else if err := control(message); err != nil {
				return err
			}
		}
	}
	counted := func(n int) { m.got.Add(int64(n)) }
	if m.slow {
		plain := counted
		counted = func(n int) {
			plain(n)
			if throttle.Load() {
				if _, is := s.Conn.(throttled); !is {
					s.Conn = throttled{s.Conn}
				}
			}
		}
	}
	return s.count(least, counted, control, nil)
}

func (m *member) listen(address string, payload []byte) {
	listener, err := net.Listen("tcp", address)
	fail(err)
	if *secure && !*raw {
		pair, err := certificate()
		fail(err)
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}})
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if *secure && *raw {
				// An agent plays the client, although it was dialled.
				conn = tls.Client(conn, &tls.Config{ServerName: "localhost", InsecureSkipVerify: true})
			}
			go func() {
				err := m.serve(conn, payload)
				if err != nil && err != io.EOF && err != errClosed && *check {
					fmt.Fprintf(os.Stderr, "relaygen: member %d: %v\n", m.index, err)
				}
				conn.Close()
			}()
		}
	}()
}

// Handshake of the protocol as a client of 1.29; gives the client-facing id of each member's connection.
func greet(s *side, members int) ([]uint64, error) {
	expect := func(want []byte) error {
		got, err := s.next()
		if err == nil && !bytes.Equal(got, want) {
			err = fmt.Errorf("expected % x, got % x", want, got[:min(len(got), 64)])
		}
		return err
	}
	s.send(switchVersion)
	if err := expect(versionAnswer); err != nil {
		return nil, err
	}
	s.send(readyForLogs)
	s.send(subscribe80)
	ids := make([]uint64, members)
	wait := members + 1
	for wait > 0 {
		message, err := s.next()
		if err != nil {
			return nil, err
		}
		switch {
		case bytes.Equal(message, subscribed80):
			wait--
		case message[0] == 2 && message[1] == 7:
			id, n := readVarint(message[2:])
			ids[message[2+n+4]] = id
			wait--
		case message[0] == 5: // a log line
			fmt.Fprintf(os.Stderr, "relaygen: log: %s\n", message[2:])
		default:
			return nil, fmt.Errorf("unexpected % x", message[:min(len(message), 64)])
		}
	}
	return ids, nil
}

// Sends the messages in turn as fast as they are taken.
func blast(s *side, messages [][]byte) {
	var chunks [][]byte
	if *batch == 0 {
		for range 64 {
			for _, message := range messages {
				chunks = append(chunks, s.frame(nil, message))
			}
		}
	} else {
		var chunk []byte
		for i := 0; len(chunk) < *batch || i%len(messages) != 0; i++ {
			chunk = s.frame(chunk, messages[i%len(messages)])
		}
		chunks = append(chunks, chunk)
	}
	for {
		for _, chunk := range chunks {
			if s.sendFramed(chunk) != nil {
				return
			}
		}
	}
}

func numbered(payload []byte, number int) []byte {
	binary.LittleEndian.PutUint64(payload, uint64(number))
	for i := 8; i < len(payload); i++ {
		payload[i] = byte(i*7 + number)
	}
	return payload
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "splice" {
		splice(os.Args[2], os.Args[3])
	}
	if len(os.Args) > 1 && os.Args[1] == "cert" {
		*certs = os.Args[2]
		_, err := certificate()
		fail(err)
		return
	}
	flag.Parse()
	payload := bytes.Repeat([]byte("relay"), *size/5+1)[:*size]
	var members []*member
	for i, address := range strings.Split(*membersFlag, ",") {
		m := &member{index: i, link: make(chan *side, 1), slow: i == *slow}
		m.listen(address, payload)
		members = append(members, m)
	}
	address, path, _ := strings.Cut(*url, "/")
	path = "/" + path
	if *traffic == "idle" {
		idle(address, path, len(members))
		return
	}
	connect := func() session {
		client, err := dialWebSocket(address, path, *secure)
		fail(err)
		ids, err := greet(client, len(members))
		fail(err)
		links := make([]*side, len(members))
		for i, m := range members {
			select {
			case links[i] = <-m.link:
			case <-time.After(10 * time.Second):
				fail(fmt.Errorf("member %d was not dialled", i))
			}
		}
		return session{client, links, ids}
	}
	first := connect()
	client, links, ids := first.client, first.links, first.ids
	out := result{Traffic: *traffic, Size: *size}
	switch *traffic {
	case "up", "down", "steal-up", "steal-down", "both":
		if *check {
			checked(client, links, members, ids)
			out.Note = "checked"
			out.Messages = int64(*count)
		} else {
			all := []session{first}
			for len(all) < *clients {
				all = append(all, connect())
			}
			stream(&out, all, members, payload)
		}
	case "echo", "file", "ping":
		exchange(&out, client, payload)
	}
	line, _ := json.Marshal(out)
	fmt.Println(string(line))
	os.Exit(0)
}

// A client's connection, what the members have of it, and what the client calls each member's connection.
type session struct {
	client *side
	links  []*side
	ids    []uint64
}

func stream(out *result, sessions []session, members []*member, payload []byte) {
	down := make([]atomic.Int64, len(members))
	up := *traffic == "up" || *traffic == "steal-up" || *traffic == "both"
	for _, one := range sessions {
		var peek func([]byte)
		if *traffic == "steal-down" && len(members) > 1 {
			owner := map[uint64]int{}
			for i, id := range one.ids {
				owner[id] = i
			}
			peek = func(b []byte) {
				id, _ := readVarint(b[2:])
				if i, known := owner[id]; known {
					down[i].Add(1)
				}
			}
		}
		go func() {
			err := one.client.count(*size, func(n int) {
				if peek == nil {
					down[0].Add(int64(n))
				}
			}, func([]byte) error { return nil }, peek)
			fmt.Fprintln(os.Stderr, "relaygen: the client's connection ended:", err)
			os.Exit(3)
		}()
	}
	for _, one := range sessions {
		if up {
			var messages [][]byte
			if *traffic == "steal-up" {
				for i, id := range one.ids {
					if *only < 0 || *only == i {
						messages = append(messages, stealUp(id, payload))
					}
				}
			} else {
				messages = append(messages, write(outgoing, payload))
			}
			go blast(one.client, messages)
		}
		if *traffic == "steal-down" {
			for _, link := range one.links {
				go blast(link, [][]byte{stealDown(memberId, payload)})
			}
		}
		if *traffic == "down" || *traffic == "both" {
			go blast(one.links[0], [][]byte{read(outgoing, payload)})
		}
	}
	counts := func() []int64 {
		all := make([]int64, len(members))
		for i, m := range members {
			if up {
				all[i] += m.got.Load()
			}
			if *traffic != "up" && *traffic != "steal-up" {
				all[i] += down[i].Load()
			}
		}
		return all
	}
	time.Sleep(*warm)
	throttle.Store(true)
	before, proxy, own, busy, start := counts(), proxyCpu(), ownCpu(), busyCpu(), time.Now()
	if *buckets > 0 {
		last := before
		for time.Since(start) < *length {
			time.Sleep(*buckets)
			now := counts()
			row := make([]int64, len(now))
			for i := range now {
				row[i] = now[i] - last[i]
			}
			last = now
			out.Buckets = append(out.Buckets, row)
		}
	} else {
		time.Sleep(*length)
	}
	after, took := counts(), time.Since(start).Seconds()
	out.Seconds = took
	out.ProxyCpu = (proxyCpu() - proxy) / took
	out.OwnCpu = (ownCpu() - own) / took
	out.Foreign = (busyCpu()-busy)/took - out.ProxyCpu - out.OwnCpu
	for i := range after {
		out.Per = append(out.Per, after[i]-before[i])
		out.Messages += after[i] - before[i]
	}
	out.MBps = float64(out.Messages) * float64(*size) / took / 1e6
	if out.MBps > 0 {
		out.CpuPerGB = out.ProxyCpu / out.MBps * 1000
	}
}

// Every message whole, in order, unchanged apart from its id, to the right place.
func checked(client *side, links []*side, members []*member, ids []uint64) {
	var done sync.WaitGroup
	same := func(where string, prefix func(id uint64, p []byte) []byte, id uint64) func([]byte) error {
		number := 0
		return func(message []byte) error {
			want := prefix(id, numbered(make([]byte, *size), number))
			if !bytes.Equal(message, want) {
				fail(fmt.Errorf("%s: message %d is % x…, not % x…", where, number, message[:min(24, len(message))], want[:24]))
			}
			number++
			done.Done()
			return nil
		}
	}
	up := *traffic == "up" || *traffic == "steal-up" || *traffic == "both"
	down := *traffic == "down" || *traffic == "steal-down" || *traffic == "both"
	if up {
		for i, m := range members {
			if *traffic == "steal-up" {
				m.verify = same(fmt.Sprintf("member %d", i), stealUp, memberId)
				done.Add(*count)
			} else if i == 0 {
				m.verify = same("default", write, outgoing)
				done.Add(*count)
			}
		}
		go func() {
			for n := range *count {
				p := numbered(make([]byte, *size), n)
				if *traffic == "steal-up" {
					for _, id := range ids {
						client.send(stealUp(id, p))
					}
				} else {
					client.send(write(outgoing, p))
				}
			}
		}()
	}
	if down {
		verify := map[uint64]func([]byte) error{}
		for i, link := range links {
			if *traffic != "steal-down" && i > 0 {
				break
			}
			done.Add(*count)
			go func() {
				for n := range *count {
					p := numbered(make([]byte, *size), n)
					if *traffic == "steal-down" {
						link.send(stealDown(memberId, p))
					} else {
						link.send(read(outgoing, p))
					}
				}
			}()
			if *traffic == "steal-down" {
				verify[ids[i]] = same(fmt.Sprintf("client from %d", i), stealDown, ids[i])
			} else {
				verify[outgoing] = same("client", read, outgoing)
			}
		}
		go func() {
			for {
				message, err := client.next()
				fail(err)
				if len(message) < *size {
					continue
				}
				at := 2
				if message[0] == 3 {
					at = 3
				}
				id, _ := readVarint(message[at:])
				if verify[id] == nil {
					fail(fmt.Errorf("client: id %d", id))
				}
				verify[id](message)
			}
		}()
	}
	go func() {
		time.Sleep(60 * time.Second)
		fail(fmt.Errorf("not everything came within 60 s"))
	}()
	done.Wait()
}

func exchange(out *result, client *side, payload []byte) {
	var request []byte
	switch *traffic {
	case "echo":
		request = client.frame(nil, write(outgoing, payload))
	case "file":
		request = client.frame(nil, fileRead(*size))
	case "ping":
		request = client.frame(nil, ping)
	}
	if *window == 1 && *traffic == "echo" {
		all := make([]int64, 0, *calls)
		var proxy, own, busy float64
		var began time.Time
		for i := range *warmCalls + *calls {
			if i == *warmCalls {
				proxy, own, busy, began = proxyCpu(), ownCpu(), busyCpu(), time.Now()
			}
			start := time.Now()
			fail(client.sendFramed(request))
			_, err := client.next()
			fail(err)
			if i >= *warmCalls {
				all = append(all, time.Since(start).Nanoseconds())
			}
			if *pace > 0 {
				time.Sleep(*pace)
			}
		}
		out.Seconds = time.Since(began).Seconds()
		out.ProxyCpu = (proxyCpu() - proxy) / out.Seconds
		out.OwnCpu = (ownCpu() - own) / out.Seconds
		out.Foreign = (busyCpu()-busy)/out.Seconds - out.ProxyCpu - out.OwnCpu
		slices.Sort(all)
		at := func(q float64) int64 { return all[int(q*float64(len(all)-1))] }
		out.Latency = map[string]int64{"p50": at(.5), "p90": at(.9), "p99": at(.99), "p999": at(.999), "max": all[len(all)-1]}
		out.Messages = int64(*calls)
		return
	}
	var answers atomic.Int64
	slots := make(chan struct{}, *window)
	go func() {
		for {
			slots <- struct{}{}
			fail(client.sendFramed(request))
		}
	}()
	go func() {
		for {
			_, err := client.next()
			fail(err)
			answers.Add(1)
			<-slots
		}
	}()
	time.Sleep(*warm)
	before, proxy, own, busy, start := answers.Load(), proxyCpu(), ownCpu(), busyCpu(), time.Now()
	time.Sleep(*length)
	out.Seconds = time.Since(start).Seconds()
	out.Messages = answers.Load() - before
	out.ProxyCpu = (proxyCpu() - proxy) / out.Seconds
	out.OwnCpu = (ownCpu() - own) / out.Seconds
	out.Foreign = (busyCpu()-busy)/out.Seconds - out.ProxyCpu - out.OwnCpu
	out.MBps = float64(out.Messages) * float64(*size) / out.Seconds / 1e6
	if out.MBps > 0 {
		out.CpuPerGB = out.ProxyCpu / out.MBps * 1000
	}
}

// Many connections that say nothing but their pings. Says "ready" when all stand.
func idle(address, path string, members int) {
	var open sync.WaitGroup
	limit := make(chan struct{}, 16)
	for range *sessions {
		open.Add(1)
		limit <- struct{}{}
		go func() {
			client, err := dialWebSocket(address, path, *secure)
			fail(err)
			_, err = greet(client, members)
			fail(err)
			open.Done()
			<-limit
			go func() {
				for {
					time.Sleep(30 * time.Second)
					client.send(ping)
				}
			}()
			for {
				if _, err := client.next(); err != nil {
					fail(fmt.Errorf("an idle connection ended: %v", err))
				}
			}
		}()
	}
	open.Wait()
	fmt.Println("ready")
	time.Sleep(*hold)
	os.Exit(0)
}

// The least that a relay outside of the kernel can do: io.Copy between two TCP connections is splice(2) in Go.
func splice(listen, to string) {
	listener, err := net.Listen("tcp", listen)
	fail(err)
	for {
		a, err := listener.Accept()
		fail(err)
		go func() {
			b, err := net.Dial("tcp", to)
			if err != nil {
				a.Close()
				return
			}
			go func() {
				io.Copy(a, b)
				a.Close()
			}()
			io.Copy(b, a)
			b.Close()
		}()
	}
}
