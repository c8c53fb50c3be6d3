// Package measure is the load of the benchmark of tunnels in Go: what near.ts and lanes.ts are in TypeScript. Commands and
// answers are lines of JSON, and a lane begins with nine bytes, so that both can be compared.
package measure

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

const headLength = 9

// Check ends the program with a problem.
func Check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Say writes a line for the benchmark.
func Say(answer any) {
	line, err := json.Marshal(answer)
	Check(err)
	fmt.Println(string(line))
}

// TLSConfig is that of one side, "cell" or "outpost", from the files of the benchmark.
func TLSConfig(folder, side string) *tls.Config {
	pair, err := tls.LoadX509KeyPair(filepath.Join(folder, side+".pem"), filepath.Join(folder, side+".key"))
	Check(err)
	pem, err := os.ReadFile(filepath.Join(folder, "ca.pem"))
	Check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		RootCAs:      roots,
		ClientCAs:    roots,
		ServerName:   "localhost",
		ClientAuth:   tls.RequireAndVerifyClientCert,
		MinVersion:   tls.VersionTLS13,
	}
}

// Serve is the far end of a lane, which does what its head says.
func Serve(lane net.Conn) {
	defer lane.Close()
	head := make([]byte, headLength)
	if _, err := io.ReadFull(lane, head); err != nil {
		return
	}
	left := int64(binary.BigEndian.Uint32(head[1:])) << 10
	buffer := make([]byte, 64<<10)
	switch head[0] {
	case 'e':
		for {
			n, err := lane.Read(buffer)
			if err != nil {
				return
			}
			if _, err := lane.Write(buffer[:n]); err != nil {
				return
			}
		}
	case 's':
		for left > 0 {
			n, err := lane.Read(buffer)
			if err != nil {
				return
			}
			left -= int64(n)
		}
		lane.Write([]byte("k"))
	case 'd':
		size := int64(binary.BigEndian.Uint32(head[5:]))
		for ; left > 0; left -= size {
			if _, err := lane.Write(buffer[:size]); err != nil {
				return
			}
		}
	}
	// The other side ends the lane.
	io.Copy(io.Discard, lane)
}

// ServeAll serves the lanes that a listener has.
func ServeAll(lanes net.Listener) {
	// The programs end with the benchmark.
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		lane, err := lanes.Accept()
		Check(err)
		go Serve(lane)
	}
}

// Dial opens a lane.
type Dial func() (net.Conn, error)

type command struct {
	What  string `json:"what"`
	KiB   int    `json:"kib"`
	Size  int    `json:"size"`
	Calls int    `json:"calls"`
	Pause int    `json:"pause"`
}

func (dial Dial) open(mode byte, kib, size int) net.Conn {
	lane, err := dial()
	Check(err)
	head := make([]byte, headLength)
	head[0] = mode
	binary.BigEndian.PutUint32(head[1:], uint32(kib))
	binary.BigEndian.PutUint32(head[5:], uint32(size))
	_, err = lane.Write(head)
	Check(err)
	return lane
}

func (dial Dial) up(kib, size int) {
	lane := dial.open('s', kib, size)
	defer lane.Close()
	message := make([]byte, size)
	for left := kib << 10; left > 0; left -= size {
		_, err := lane.Write(message)
		Check(err)
	}
	_, err := io.ReadFull(lane, message[:1])
	Check(err)
}

func (dial Dial) down(kib, size int) {
	lane := dial.open('d', kib, size)
	defer lane.Close()
	_, err := io.CopyN(io.Discard, lane, int64(kib)<<10)
	Check(err)
}

// echo sends 64 bytes and waits for them, again and again, and gives the times in microseconds, sorted.
func (dial Dial) echo(pause time.Duration, goesOn func() bool) []float64 {
	lane := dial.open('e', 0, 0)
	defer lane.Close()
	message := make([]byte, 64)
	var times []float64
	for goesOn() {
		begun := time.Now()
		_, err := lane.Write(message)
		Check(err)
		_, err = io.ReadFull(lane, message)
		Check(err)
		times = append(times, float64(time.Since(begun).Nanoseconds())/1000)
		time.Sleep(pause)
	}
	sort.Float64s(times)
	return times
}

func calls(count int) func() bool {
	return func() bool { count--; return count >= 0 }
}

func quantiles(sorted []float64) map[string]float64 {
	at := func(share float64) float64 { return sorted[min(len(sorted)-1, int(float64(len(sorted))*share))] }
	return map[string]float64{"p50": at(.5), "p99": at(.99), "most": at(1)}
}

// busy measures an echo every few milliseconds beside four lanes, two each way.
func (dial Dial) busy(order command) map[string]float64 {
	var isBusy atomic.Bool
	isBusy.Store(true)
	beats := make(chan []float64)
	go func() { beats <- dial.echo(time.Duration(order.Pause)*time.Millisecond, isBusy.Load) }()
	var all sync.WaitGroup
	for _, move := range []func(int, int){dial.up, dial.down, dial.up, dial.down} {
		all.Go(func() { move(order.KiB/4, order.Size) })
	}
	all.Wait()
	isBusy.Store(false)
	return quantiles(<-beats)
}

// check sends bytes of all values in writes of all lengths, and compares what comes back. Each comes back before the next
// is sent: remotedialer stands still where both ways are full.
func (dial Dial) check(kib int) {
	lane := dial.open('e', 0, 0)
	defer lane.Close()
	sent := make([]byte, kib<<10)
	for at := range sent {
		sent[at] = byte(at * 31 >> 3)
	}
	for at, length := 0, 1; at < len(sent); length = length*3%70001 + 1 {
		part := sent[at:min(len(sent), at+length)]
		_, err := lane.Write(part)
		Check(err)
		came := make([]byte, len(part))
		_, err = io.ReadFull(lane, came)
		Check(err)
		if !bytes.Equal(part, came) {
			Check(fmt.Errorf("a byte that came back is wrong"))
		}
		at += length
	}
}

// Obey carries out the commands on the standard input.
func Obey(dial Dial) {
	for tries := 0; ; tries++ {
		lane, err := dial()
		if err == nil {
			lane.Close()
			break
		}
		if tries == 200 {
			Check(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	Say(map[string]bool{"ready": true})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var order command
		Check(json.Unmarshal(lines.Bytes(), &order))
		begun := time.Now()
		answer := map[string]float64{}
		switch order.What {
		case "check":
			dial.check(order.KiB)
		case "up":
			dial.up(order.KiB, order.Size)
		case "down":
			dial.down(order.KiB, order.Size)
		case "echo":
			answer = quantiles(dial.echo(time.Duration(order.Pause)*time.Millisecond, calls(order.Calls)))
		case "busy":
			answer = dial.busy(order)
		default:
			Check(fmt.Errorf("no command is called %q", order.What))
		}
		answer["seconds"] = time.Since(begun).Seconds()
		Say(answer)
	}
}
