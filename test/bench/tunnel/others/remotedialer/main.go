// The benchmark's load over remotedialer, both ends of it as a library: remotedialer near|far FOLDER PORT TARGET.
package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"time"

	"braid.test/tunnels/measure"
	"github.com/gorilla/websocket"
	"github.com/rancher/remotedialer"
	"github.com/sirupsen/logrus"
)

const member = "member"

func far(folder, port, address string) {
	dialer := &websocket.Dialer{TLSClientConfig: measure.TLSConfig(folder, "outpost")}
	target, err := net.Listen("tcp", address)
	measure.Check(err)
	go measure.ServeAll(target)
	measure.Say(map[string]bool{"ready": true})
	for {
		remotedialer.ConnectToProxy(context.Background(), "wss://localhost:"+port+"/", http.Header{},
			func(string, string) bool { return true }, dialer, nil)
		time.Sleep(50 * time.Millisecond)
	}
}

func main() {
	logrus.SetLevel(logrus.FatalLevel)
	side, folder, port, target := os.Args[1], os.Args[2], os.Args[3], "127.0.0.1:"+os.Args[4]
	if side == "far" {
		far(folder, port, target)
	}
	handler := remotedialer.New(
		func(*http.Request) (string, bool, error) { return member, true, nil }, remotedialer.DefaultErrorWriter)
	server := &http.Server{Addr: "localhost:" + port, Handler: handler, TLSConfig: measure.TLSConfig(folder, "cell")}
	// A connection that HTTP/2 takes cannot become a WebSocket.
	server.TLSConfig.NextProtos = []string{"http/1.1"}
	go func() { measure.Check(server.ListenAndServeTLS("", "")) }()
	measure.Obey(func() (net.Conn, error) {
		for !handler.HasSession(member) {
			time.Sleep(20 * time.Millisecond)
		}
		return handler.Dialer(member)(context.Background(), "tcp", target)
	})
}
