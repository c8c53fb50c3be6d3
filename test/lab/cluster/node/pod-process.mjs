// Runs with pod-network-preload: node pod-process.mjs serve <address> <port> | dial <address> <port>
import { get } from "node:http"
import { connect, createServer } from "node:net"

const [mode, address, port] = process.argv.slice(2)
if (mode === "serve") {
  const server = createServer((socket) =>
    socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi")
  )
  const started = () => console.log(JSON.stringify(server.address()))
  if (address === "") server.listen(Number(port), started)
  else if (address === "options") server.listen({ port: Number(port) }, started)
  else server.listen(Number(port), address, started)
} else {
  const url = `http://${address}:${port}/`
  const texts = [
    await (await fetch(url)).text(),
    await new Promise((resolve, reject) =>
      get(url, { agent: false }, (answer) => answer.setEncoding("utf8").on("data", resolve)).on("error", reject)
    ),
    await new Promise((resolve, reject) => {
      let text = ""
      const socket = connect({ host: address, port: Number(port) })
        .on("data", (bytes) => (text += bytes))
        .on("end", () => resolve(text.slice(-2)))
      socket.on("error", reject).end("GET / HTTP/1.1\r\n\r\n")
    })
  ]
  console.log(JSON.stringify(texts))
}
