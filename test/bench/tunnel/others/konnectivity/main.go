// The benchmark's load over Konnectivity's own server and agent: konnectivity near FOLDER PORT TARGET | far FOLDER TARGET.
package main

import (
	"context"
	"net"
	"os"

	"braid.test/tunnels/measure"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"sigs.k8s.io/apiserver-network-proxy/konnectivity-client/pkg/client"
)

func far(address string) {
	listener, err := net.Listen("tcp", address)
	measure.Check(err)
	measure.Say(map[string]bool{"ready": true})
	measure.ServeAll(listener)
}

func main() {
	if os.Args[1] == "far" {
		far("127.0.0.1:" + os.Args[3])
	}
	folder, port, target := os.Args[2], os.Args[3], os.Args[4]
	// The certificate of an outpost is one for clients, as the server wants of its users.
	secure := credentials.NewTLS(measure.TLSConfig(folder, "outpost"))
	measure.Obey(func() (net.Conn, error) {
		ctx := context.Background()
		tunnel, err := client.CreateSingleUseGrpcTunnel(ctx, "127.0.0.1:"+port, grpc.WithTransportCredentials(secure))
		if err != nil {
			return nil, err
		}
		return tunnel.DialContext(ctx, "tcp", "127.0.0.1:"+target)
	})
}
