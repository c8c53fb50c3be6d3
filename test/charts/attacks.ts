import { once } from "node:events"
import https, { type RequestOptions } from "node:https"
import { createServer, type Server, type Socket } from "node:net"
import { setImmediate as turn } from "node:timers/promises"
import { Worker } from "node:worker_threads"
import { KubeConfig } from "@kubernetes/client-node"
import { connectOut, type RawSession } from "../../lab/client/raw-session.ts"
import { clientMessage } from "../../src/domain/protocol/client-message.ts"
import { marker } from "../../src/domain/protocol/reader.ts"

const mebibyte = 1024 * 1024
/** Bytes that may wait in this process before a sender pauses. */
const waiting = 4 * mebibyte

/** A TCP server of this machine, which agents reach; ends with all its connections. */
export interface LocalServer {
  readonly port: number
  readonly close: () => void
}

const listening = async (server: Server): Promise<LocalServer> => {
  const sockets = new Set<Socket>()
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.on("error", () => socket.destroy())
    socket.once("close", () => sockets.delete(socket))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    }
  }
}

/** Sends so many bytes to each connection, as fast as they are taken, and ends it. */
export const source = (bytes: number): Promise<LocalServer> => {
  const chunk = Buffer.alloc(64 * 1024, "x")
  return listening(
    createServer((socket) => {
      let left = bytes
      const more = (): void => {
        while (left > 0 && !socket.destroyed) {
          const part = chunk.subarray(0, Math.min(left, chunk.length))
          left -= part.length
          if (!socket.write(part)) return
        }
        if (left === 0) socket.end()
      }
      socket.on("drain", more)
      more()
    })
  )
}

/** Accepts connections and never reads. */
export const sink = (): Promise<LocalServer> => listening(createServer({ pauseOnConnect: true }))

/** Reads a connection to its end, and tells how many bytes come. */
export const download = async (
  session: RawSession,
  port: number,
  uid: bigint,
  came: (bytes: number) => void
): Promise<void> => {
  let id: bigint | undefined
  // One listener for all: data may come in the same turn as the answer that tells the connection's id.
  const over = session.hear((message) => {
    if (message._tag !== "TcpOutgoing") return undefined
    const { value } = message
    if (value._tag === "ConnectV2" && value.value.uid === uid && value.value.connect._tag === "Ok")
      id = value.value.connect.value.connectionId
    if (value._tag === "Read" && value.value._tag === "Ok" && value.value.value.connectionId === id) {
      const { length } = value.value.value.bytes
      came(length)
      // The server has said all; the agent waits for our end.
      return length === 0 ? true : undefined
    }
    return value._tag === "Close" && value.value === id ? true : undefined
  })
  const [connectionId] = await Promise.all([connectOut(session, port, uid), over])
  session.say({ _tag: "TcpOutgoing", value: { _tag: "Close", value: { connectionId } } })
}

/** Waits until what was sent has left this process, or for some turns if nobody takes it. Says whether it has left. */
const drained = async ({ socket }: RawSession): Promise<boolean> => {
  for (let idle = 0, before = socket.bufferedAmount; socket.bufferedAmount > waiting / 2;) {
    await new Promise((resolve) => {
      setTimeout(resolve, 10)
    })
    idle = socket.bufferedAmount < before ? 0 : idle + 1
    before = socket.bufferedAmount
    if (idle > 300 || socket.readyState !== socket.OPEN) return false
  }
  return true
}

/** Sends a message again and again, up to a number or until it is not taken any more. Gives how often. */
export const flood = async (session: RawSession, bytes: Uint8Array, times: number): Promise<number> => {
  for (let sent = 0; sent < times; sent++) {
    if (session.socket.readyState !== session.socket.OPEN) return sent
    session.socket.send(bytes, { binary: true })
    if (session.socket.bufferedAmount > waiting && !(await drained(session))) return sent
    if (sent % 1000 === 0) await turn()
  }
  await drained(session)
  return times
}

/** A message of one byte to a connection that nobody reads. */
export const tinyWrite = (connectionId: bigint): Uint8Array =>
  clientMessage.encode({
    _tag: "TcpOutgoing",
    value: { _tag: "Write", value: { connectionId, bytes: new Uint8Array(1) } }
  })

/** A question that the operator answers itself. */
export const subscription = clientMessage.encode({
  _tag: "TcpSteal",
  value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } }
})

/** Begins a message, and sends so many bytes of it. */
export const unfinished = async (session: RawSession, bytes: number): Promise<void> => {
  const part = Buffer.alloc(mebibyte)
  for (let sent = 0; sent < bytes && session.socket.readyState === session.socket.OPEN; sent += part.length) {
    session.socket.send(part, { binary: true, fin: false })
    if (!(await drained(session))) return
  }
}

/** A request for the environment with so many empty names, which are a byte each. */
export const manyItems = (count: number): Uint8Array => {
  const none = new Set<string>()
  const head = clientMessage.encode({
    _tag: "GetEnvVarsRequest",
    value: { envVarsFilter: none, envVarsSelect: none }
  })
  const message = Buffer.alloc(head.length + 4 + count)
  message.set(head)
  // The last byte was the length of the last set.
  message[head.length - 1] = marker.u32
  message.writeUInt32LE(count, head.length)
  return message
}

/** A body of so many bytes for the endpoint that any user may call. Gives the status, or 0 if the connection ended. */
export const largeBody = async (kubeconfigPath: string, bytes: number): Promise<number> => {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfigPath)
  const tls: RequestOptions = {}
  await config.applyToHTTPSOptions(tls)
  const url = new URL(
    "/apis/operator.metalbear.co/v1/mirrordclusteroperatorusercredentials",
    config.getCurrentCluster()?.server
  )
  return new Promise((resolve) => {
    const request = https.request(url, {
      ...tls,
      agent: false,
      method: "POST",
      headers: { ...(tls.headers as object), "content-type": "application/json", "content-length": bytes }
    })
    request.on("response", (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
      response.on("end", () => request.destroy())
    })
    request.on("error", () => resolve(0))
    request.on("close", () => resolve(0))
    const chunk = Buffer.alloc(mebibyte, "x")
    const more = (left: number): void => {
      if (left <= 0) request.end()
      else request.write(chunk.subarray(0, Math.min(left, chunk.length)), () => more(left - chunk.length))
    }
    more(bytes)
  })
}

/** Peers without credentials that connect past the API server, with what each of them says. */
export interface Strangers {
  readonly host: string
  readonly port: number
  readonly text: string
  readonly count: number
}

/** Connects so many; the result ends them, and gives how many were still open. */
export const strangers = async (workerData: Strangers): Promise<() => Promise<number>> => {
  const worker = new Worker(new URL("strangers-worker.ts", import.meta.url), { workerData })
  await once(worker, "message")
  return async () => {
    const told = once(worker, "message")
    worker.postMessage("end")
    const [open] = (await told) as [number]
    await worker.terminate()
    return open
  }
}

/** The beginning of a request, with a header of so many bytes that does not end. */
export const unfinishedHeaders = (bytes: number): string => `GET /livez HTTP/1.1\r\nhost: x\r\nx: ${"a".repeat(bytes)}`

/** A session's upgrade without a user. */
export const refusedUpgrade = [
  "GET /apis/operator.metalbear.co/v1/namespaces/default/targets/deployment.myapp?connect=true HTTP/1.1",
  "host: x",
  "connection: Upgrade",
  "upgrade: websocket",
  "sec-websocket-version: 13",
  "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
  "sec-websocket-protocol: v4.channel.k8s.io",
  "",
  ""
].join("\r\n")
