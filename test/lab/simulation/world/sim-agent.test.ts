/**
 * The simulated agent on a kernel: its answers to every kind of message, and what clients may hear after random deeds
 * of theirs.
 */

import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { systemError } from "../../../../lab/agent/io-errors.ts"
import { Kernel } from "../../../../lab/simulation/kernel/kernel.ts"
import { SimProcess } from "../../../../lab/simulation/kernel/sim-process.ts"
import { type Answered, SimAgent, type SimAgentOptions } from "../../../../lab/simulation/world/sim-agent.ts"
import { clientMessage, type ClientMessage } from "../../../../src/domain/protocol/client-message.ts"
import { daemonMessage, type DaemonMessage } from "../../../../src/domain/protocol/daemon-message.ts"
import type { FileRequest } from "../../../../src/domain/protocol/file-messages.ts"
import type { HttpFilter, StealType } from "../../../../src/domain/protocol/http-filter-messages.ts"
import type { DaemonTcp, LayerTcpSteal } from "../../../../src/domain/protocol/incoming-messages.ts"
import type { FrameChannel, FrameHandlers } from "../../../../src/ports/frame-channel.ts"

/** The two ends of a connection on the kernel. A message arrives at once, as an event of the agent's process. */
const pair = (kernel: Kernel, process: SimProcess | undefined) => {
  interface End extends FrameChannel {
    handlers: FrameHandlers | undefined
    over: boolean
    queued: number
    paused: boolean
  }
  const make = (peer: () => End, owner: SimProcess | undefined): End => {
    const end: End = {
      handlers: undefined,
      over: false,
      queued: 0,
      paused: false,
      send: (bytes) => {
        if (!end.over) kernel.soon(() => peer().over || peer().handlers?.message(bytes), owner)
      },
      queuedBytes: () => end.queued,
      pause: () => {
        end.paused = true
      },
      resume: () => {
        end.paused = false
      },
      close: () => {
        if (end.over) return
        end.over = true
        kernel.soon(() => {
          if (peer().over) return
          peer().over = true
          peer().handlers?.ended("closed")
        }, owner)
      },
      open: (handlers) => {
        end.handlers = handlers
      }
    }
    return end
  }
  const near: End = make(() => far, process)
  const far: End = make(() => near, undefined)
  return { near, far }
}

const decode = (bytes: Uint8Array): DaemonMessage => {
  const decoded = daemonMessage.decode(bytes)
  if (decoded._tag === "Decoded" && decoded.used === bytes.length) return decoded.value
  throw new Error(`not one message: ${bytes.join(" ")}`)
}

const bytes = (string: string): Uint8Array => new TextEncoder().encode(string)

const world = (options: Partial<Omit<SimAgentOptions, "process" | "exited">> = {}) => {
  const kernel = new Kernel("sim-agent", 0)
  const process = new SimProcess(kernel, "agent", () => {})
  const exits: Array<number> = []
  const agent = new SimAgent({
    cluster: "b",
    pod: "myapp-1",
    version: "1.29.0",
    process,
    delay: () => 5,
    firstClientTimeout: 30_000,
    idleTtl: 0,
    ...options,
    exited: () => exits.push(kernel.now)
  })
  const run = (ms = 1000): void => kernel.run(kernel.now + ms)
  const answers: Array<Answered & { readonly id: number }> = []
  let requests = 0
  const request = (path: string, headers: ReadonlyArray<readonly [string, string]> = [], port = 8080): void => {
    const id = requests++
    agent.request({ id, port, method: "GET", path, headers }, (answer) => answers.push({ id, ...answer }))
  }
  return { kernel, process, agent, exits, run, answers, request }
}
type World = ReturnType<typeof world>

const connect = ({ kernel, process, agent }: World) => {
  const { near, far } = pair(kernel, process)
  const heard: Array<DaemonMessage> = []
  let ended = false
  near.open({
    message: (raw) => heard.push(decode(raw)),
    ended: () => {
      ended = true
    },
    drained: () => {},
    ignored: () => {}
  })
  agent.accept(far)
  return {
    far,
    heard,
    take: (): Array<DaemonMessage> => heard.splice(0),
    say: (...messages: ReadonlyArray<ClientMessage>): void => {
      for (const message of messages) near.send(clientMessage.encode(message))
    },
    raw: (...octets: ReadonlyArray<number>): void => near.send(Uint8Array.from(octets)),
    leave: (): void => near.close(),
    ended: (): boolean => ended
  }
}

const announce = (version: string): ClientMessage => ({ _tag: "SwitchProtocolVersion", value: version })
const steal = (value: LayerTcpSteal): ClientMessage => ({ _tag: "TcpSteal", value })
const stealPort = (value: StealType): ClientMessage => steal({ _tag: "PortSubscribe", value })
const stealAll = (port = 8080): ClientMessage => stealPort({ _tag: "All", value: port })
const stealFiltered = (filter: HttpFilter): ClientMessage => stealPort({ _tag: "FilteredHttpEx", port: 8080, filter })
const header = (value: string): HttpFilter => ({ _tag: "Header", value })
const mirrorPort: ClientMessage = { _tag: "Tcp", value: { _tag: "PortSubscribe", value: 8080 } }
const file = (value: FileRequest): ClientMessage => ({ _tag: "FileRequest", value })
const respond = (connectionId: bigint, body = "local", status = 201): ClientMessage =>
  steal({
    _tag: "HttpResponseFramed",
    value: {
      port: 8080,
      connectionId,
      requestId: 0,
      internalResponse: { status, version: "HTTP/1.1", headers: [], body: [{ _tag: "Data", value: bytes(body) }] }
    }
  })

/** The names of incoming messages with their ids. */
const brief = (message: DaemonMessage): string => {
  if (message._tag !== "Tcp" && message._tag !== "TcpSteal") return message._tag
  const daemon: DaemonTcp = message.value
  const channel = message._tag === "Tcp" ? "mirror" : "steal"
  switch (daemon._tag) {
    case "SubscribeResult":
      return `${channel} ${daemon.value._tag === "Ok" ? `subscribed ${daemon.value.value}` : "refused"}`
    case "Close":
      return `${channel} Close ${daemon.value.connectionId}`
    case "HttpRequestChunked":
      return `${channel} ${daemon.value._tag} ${daemon.value.value.connectionId}`
    case "HttpRequest":
    case "HttpRequestFramed":
      return `${channel} ${daemon._tag} ${daemon.value.connectionId} ${daemon.value.internalRequest.uri}`
    default:
      return `${channel} ${daemon._tag}`
  }
}

/** The request that a message begins; another message stays as it is. */
const stolen = (message: DaemonMessage) =>
  message._tag === "TcpSteal" && message.value._tag === "HttpRequestChunked" && message.value.value._tag === "StartV2"
    ? message.value.value.value
    : message

describe("conversation", () => {
  it("never speaks first, and answers the version switch with the lower one", () => {
    const w = world({ version: "1.19.4" })
    const client = connect(w)
    w.run()
    expect(client.take()).toEqual([])
    client.say(announce("1.29.0"), announce("1.3.0"))
    w.run()
    expect(client.take()).toEqual([
      { _tag: "SwitchProtocolVersionResponse", value: "1.19.4" },
      { _tag: "SwitchProtocolVersionResponse", value: "1.3.0" }
    ])
  })

  it("keeps the order of inline answers whatever it thinks about each", () => {
    const delays = [50, 1, 20, 1]
    const w = world({ delay: () => delays.shift() ?? 0 })
    const client = connect(w)
    client.say({ _tag: "Ping" }, announce("1.29.0"), { _tag: "Ping" }, announce("1.3.0"))
    w.run(49)
    expect(client.take()).toEqual([])
    w.run(1)
    expect(client.take().map(({ _tag }) => _tag)).toEqual([
      "Pong",
      "SwitchProtocolVersionResponse",
      "Pong",
      "SwitchProtocolVersionResponse"
    ])
  })

  it("lets one source overtake another", () => {
    const delays = [50, 1]
    const w = world({ delay: () => delays.shift() ?? 0 })
    const client = connect(w)
    client.say({ _tag: "GetAddrInfoRequest", value: { node: "db" } }, { _tag: "Ping" })
    w.run()
    expect(client.take().map(({ _tag }) => _tag)).toEqual(["Pong", "GetAddrInfoResponse"])
  })

  it("answers a long row of pings with as many pongs", () => {
    const w = world({ delay: () => w.kernel.random.int(0, 9) })
    const client = connect(w)
    for (let i = 0; i < 1000; i++) client.say({ _tag: "Ping" })
    w.run()
    expect(client.heard).toHaveLength(1000)
  })

  it("answers the environment by the product's rules", () => {
    const w = world()
    const client = connect(w)
    client.say({
      _tag: "GetEnvVarsRequest",
      value: { envVarsFilter: new Set(["PO?T"]), envVarsSelect: new Set(["P*", "CLUSTER"]) }
    })
    w.run()
    expect(client.take()).toEqual([
      {
        _tag: "GetEnvVarsResponse",
        value: {
          _tag: "Ok",
          value: new Map([
            ["CLUSTER", "b"],
            ["POD", "myapp-1"]
          ])
        }
      }
    ])
  })

  it("resolves names", () => {
    const w = world()
    const client = connect(w)
    const v2 = (node: string, family: "Ipv4Only" | "Ipv6Only"): ClientMessage => ({
      _tag: "GetAddrInfoRequestV2",
      value: { node, servicePort: 0, family: { _tag: family }, socktype: { _tag: "Any" }, flags: 0, protocol: 0 }
    })
    client.say(
      { _tag: "GetAddrInfoRequest", value: { node: "db" } },
      v2("10.1.2.3", "Ipv4Only"),
      v2("db", "Ipv6Only"),
      v2("x.invalid", "Ipv4Only")
    )
    w.run()
    const error = (value: number) => ({ _tag: "DnsLookup", value: { kind: { _tag: "NoRecordsFound", value } } })
    const forward = client.heard.filter(({ _tag }) => _tag === "GetAddrInfoResponse")
    expect(forward.map((message) => "value" in message && message.value)).toEqual([
      { _tag: "Ok", value: [{ name: "db.b.", ip: "10.0.0.10" }] },
      { _tag: "Ok", value: [{ name: "10.1.2.3", ip: "10.1.2.3" }] },
      { _tag: "Err", error: error(0) },
      { _tag: "Err", error: error(3) }
    ])
  })

  it("fails loudly at what no program of a story asks", () => {
    const w = world()
    const client = connect(w)
    client.say({ _tag: "PauseTargetRequest", value: true })
    expect(() => w.run()).toThrow("no program of a story sends")
  })

  it("stops reading a client that does not take its answers", () => {
    const w = world()
    const client = connect(w)
    client.far.queued = 1 << 20
    client.say({ _tag: "Ping" })
    w.run()
    expect(client.far.paused).toBe(true)
    client.far.handlers?.drained()
    expect(client.far.paused).toBe(false)
  })
})

describe("files", () => {
  const readOnly = { read: true, write: false, append: false, truncate: false, create: false, createNew: false }
  const open = (path: string): ClientMessage => file({ _tag: "Open", value: { path, openOptions: readOnly } })
  const values = (messages: ReadonlyArray<DaemonMessage>) =>
    messages.map((message) => (message._tag === "File" ? message.value : message))

  it("reads and closes", () => {
    const w = world()
    const client = connect(w)
    client.say(
      open("/etc/app"),
      open("/etc/other"),
      file({ _tag: "Read", value: { remoteFd: 0n, bufferSize: 5n } }),
      file({ _tag: "Read", value: { remoteFd: 0n, bufferSize: 100n } }),
      file({ _tag: "Read", value: { remoteFd: 0n, bufferSize: 100n } }),
      file({ _tag: "Close", value: { fd: 0n } }),
      file({ _tag: "Read", value: { remoteFd: 0n, bufferSize: 5n } })
    )
    w.run()
    const read = (string: string) => ({
      _tag: "Read",
      value: { _tag: "Ok", value: { bytes: bytes(string), readAmount: BigInt(string.length) } }
    })
    expect(values(client.heard)).toEqual([
      { _tag: "Open", value: { _tag: "Ok", value: { fd: 0n } } },
      { _tag: "Open", value: { _tag: "Ok", value: { fd: 1n } } },
      read("file "),
      read("of b\n"),
      read(""),
      { _tag: "Read", value: { _tag: "Err", error: { _tag: "NotFound", value: 0n } } }
    ])
  })

  it("answers whatever else with an error of the right kind", () => {
    const w = world()
    const client = connect(w)
    client.say(
      open("/etc/missing"),
      file({ _tag: "StatFs", value: { path: "/" } }),
      file({ _tag: "CloseDir", value: { remoteFd: 7n } }),
      file({ _tag: "Xstat", value: { path: "/etc/app", fd: null, followSymlink: true } })
    )
    w.run()
    const briefly = values(client.heard).map((value) => {
      if (!("value" in value) || typeof value.value !== "object" || !("_tag" in value.value)) return value
      const { value: answer } = value
      if (answer._tag !== "Err" || !("error" in answer)) return `${value._tag} ${answer._tag}`
      const { error } = answer
      return `${value._tag} ${error._tag === "RemoteIO" ? error.value.kind._tag : error._tag}`
    })
    expect(briefly).toEqual(["Open NotFound", "XstatFs Unsupported", "Xstat Unsupported"])
  })

  it("ends the connection for a relative path", () => {
    const w = world()
    const client = connect(w)
    client.say(open("etc/app"), { _tag: "Ping" })
    w.run()
    expect(client.take()).toEqual([{ _tag: "Close", value: "Path failed with `prefix not found`" }])
    expect(client.ended()).toBe(true)
  })
})

describe("outgoing", () => {
  const remoteAddress = (ip: string, port: number) => ({ _tag: "Ip", value: { ip, port } }) as const
  it("connects in both forms and echoes", () => {
    const _tag = "TcpOutgoing"
    const w = world()
    const client = connect(w)
    client.say(
      { _tag, value: { _tag: "Connect", value: { remoteAddress: remoteAddress("10.9.9.9", 80) } } },
      { _tag, value: { _tag: "ConnectV2", value: { uid: 77n, remoteAddress: remoteAddress("10.9.9.9", 81) } } },
      { _tag, value: { _tag: "ConnectV2", value: { uid: 78n, remoteAddress: remoteAddress("10.9.9.9", 1) } } }
    )
    w.run()
    const localAddress = remoteAddress("10.0.0.5", 50_000)
    const heard = client.take().map((message) => (message._tag === _tag ? message.value : message))
    const read = (connectionId: bigint, string: string) => ({
      _tag: "Read",
      value: { _tag: "Ok", value: { connectionId, bytes: bytes(string) } }
    })
    const connected = (connectionId: bigint, port: number) => ({
      _tag: "Ok",
      value: { connectionId, remoteAddress: remoteAddress("10.9.9.9", port), localAddress }
    })
    expect(heard).toEqual([
      { _tag: "Connect", value: connected(0n, 80) },
      { _tag: "ConnectV2", value: { uid: 77n, connect: connected(1n, 81) } },
      {
        _tag: "ConnectV2",
        value: {
          uid: 78n,
          connect: { _tag: "Err", error: systemError(111) }
        }
      },
      read(0n, "hello from b"),
      read(1n, "hello from b")
    ])
    client.say(
      { _tag, value: { _tag: "Write", value: { connectionId: 1n, bytes: bytes("one") } } },
      { _tag, value: { _tag: "Write", value: { connectionId: 1n, bytes: bytes("two") } } },
      { _tag, value: { _tag: "Write", value: { connectionId: 1n, bytes: bytes("") } } },
      { _tag, value: { _tag: "Close", value: { connectionId: 0n } } }
    )
    w.run()
    expect(client.take().map((message) => (message._tag === _tag ? message.value : message))).toEqual([
      read(1n, "one"),
      read(1n, "two"),
      { _tag: "Close", value: 1n }
    ])
  })

  it("answers connects with a uid as they complete, and gives up after 5 s", () => {
    const delays = [40, 10]
    const w = world({ delay: () => delays.shift() ?? 0 })
    const client = connect(w)
    const to = (uid: bigint, ip: string): ClientMessage => ({
      _tag: "TcpOutgoing",
      value: { _tag: "ConnectV2", value: { uid, remoteAddress: remoteAddress(ip, 80) } }
    })
    client.say(to(3n, "192.0.2.1"), to(1n, "10.0.0.1"), to(2n, "10.0.0.2"))
    const uids = (): ReadonlyArray<unknown> =>
      client
        .take()
        .flatMap(({ _tag, ...rest }) =>
          "value" in rest &&
          typeof rest.value === "object" &&
          rest.value !== null &&
          "value" in rest.value &&
          typeof rest.value.value === "object" &&
          rest.value.value !== null &&
          "uid" in rest.value.value
            ? [rest.value.value.uid]
            : []
        )
    w.run(4999)
    expect(uids()).toEqual([2n, 1n])
    w.run(1)
    expect(uids()).toEqual([3n])
  })

  it("does not read a peer whose client does not take what it says", () => {
    const w = world()
    const client = connect(w)
    const write = (string: string): ClientMessage => ({
      _tag: "TcpOutgoing",
      value: { _tag: "Write", value: { connectionId: 0n, bytes: bytes(string) } }
    })
    const peer = remoteAddress("10.9.9.9", 80)
    client.say({ _tag: "TcpOutgoing", value: { _tag: "Connect", value: { remoteAddress: peer } } })
    w.run()
    client.far.queued = 1 << 20
    client.say(write("one"), write("two"), write("three"))
    w.run()
    client.take()
    client.far.queued = 0
    client.far.handlers?.drained()
    client.say(write("four"))
    w.run()
    const heard = client
      .take()
      .map((message) =>
        message._tag === "TcpOutgoing" && message.value._tag === "Read" && message.value.value._tag === "Ok"
          ? new TextDecoder().decode(message.value.value.value.bytes)
          : message
      )
    expect(heard).toEqual(["two", "three", "four"])
  })
})

describe("requests", () => {
  it("go to the workload at once where nobody subscribed", () => {
    const w = world()
    connect(w)
    w.process.pause()
    w.request("/a")
    expect(w.answers).toEqual([{ id: 0, by: "workload", status: 200, body: "hello from b: GET /a" }])
  })

  it("are stolen: start, response, Close", () => {
    const w = world()
    const client = connect(w)
    client.say(announce("1.29.0"), stealAll())
    w.run()
    expect(client.take().map(brief)).toEqual(["SwitchProtocolVersionResponse", "steal subscribed 8080"])
    expect([...w.agent.subscribedPorts]).toEqual([8080])
    w.request("/a?b", [["X-Who", "me"]])
    w.request("/other", [], 9090)
    w.run()
    expect(w.answers).toEqual([{ id: 1, by: "workload", status: 200, body: "hello from b: GET /other" }])
    expect(w.agent.openTraffic).toBe(1)
    expect(client.take().map(stolen)).toMatchObject([
      {
        connectionId: 0n,
        requestId: 0,
        request: {
          method: "GET",
          uri: "/a?b",
          headers: [["x-who", bytes("me")]],
          body: { frames: [], isLast: true }
        },
        metadata: { destination: { ip: "10.0.0.5", port: 8080 } }
      }
    ])
    client.say(respond(0n), respond(0n))
    w.run()
    expect(w.answers.slice(1)).toEqual([{ id: 0, by: "client", status: 201, body: "local" }])
    expect(client.take().map(brief)).toEqual(["steal Close 0"])
    expect(w.agent.openTraffic).toBe(0)
    w.request("/b")
    w.run()
    expect(client.take().map(brief)).toEqual(["steal StartV2 1"])
  })

  it("are answered by a whole or a chunked response, and by 502 if it breaks off", () => {
    const w = world()
    const client = connect(w)
    client.say(announce("1.29.0"), stealAll())
    w.run()
    for (const path of ["/0", "/1", "/2", "/3"]) w.request(path)
    w.run()
    client.take()
    const frame = (string: string) => ({ _tag: "Data", value: bytes(string) }) as const
    const head = { status: 200, version: "HTTP/1.1", headers: [] } as const
    const start = (connectionId: bigint): ClientMessage =>
      steal({
        _tag: "HttpResponseChunked",
        value: {
          _tag: "Start",
          value: { port: 8080, connectionId, requestId: 0, internalResponse: { ...head, body: [frame("a")] } }
        }
      })
    const body = (connectionId: bigint, string: string, isLast: boolean, requestId = 0): ClientMessage =>
      steal({
        _tag: "HttpResponseChunked",
        value: { _tag: "Body", value: { frames: [frame(string)], isLast, connectionId, requestId } }
      })
    client.say(
      steal({
        _tag: "HttpResponse",
        value: { port: 8080, connectionId: 0n, requestId: 0, internalResponse: { ...head, body: bytes("whole") } }
      }),
      body(1n, "no start", true),
      start(1n),
      start(1n),
      body(1n, "b", false),
      body(1n, "wrong request", true, 1),
      body(1n, "c", true),
      start(2n),
      steal({ _tag: "HttpResponseChunked", value: { _tag: "Error", value: { connectionId: 2n, requestId: 0 } } }),
      steal({ _tag: "ConnectionUnsubscribe", value: 3n })
    )
    w.run()
    expect(w.answers.map(({ id, status, body: answer }) => [id, status, answer])).toEqual([
      [0, 200, "whole"],
      [1, 200, "abc"],
      [2, 502, "mirrord-agent v3.250.0: the request was dropped"],
      [3, 502, "mirrord-agent v3.250.0: the request was dropped"]
    ])
    // A connection that the client gave up is not closed again.
    expect(client.take().map(brief)).toEqual(["steal Close 0", "steal Close 1"])
    expect(w.agent.openTraffic).toBe(0)
  })

  it("follow filters; who else wanted one reads so in the log", () => {
    const w = world()
    const [first, second, third] = [connect(w), connect(w), connect(w)]
    for (const client of [first, second, third]) client.say(announce("1.29.0"))
    first.say({ _tag: "ReadyForLogs" }, stealFiltered(header("^x-user: me$")))
    second.say({ _tag: "ReadyForLogs" }, stealPort({ _tag: "FilteredHttp", port: 8080, filter: "me" }))
    third.say(stealFiltered({ _tag: "Path", value: "^/third" }))
    w.run()
    for (const client of [first, second, third]) client.take()
    w.request("/a", [["X-User", "me"]])
    w.request("/b", [["X-User", "you"]])
    w.request("/third")
    w.run()
    expect(first.take().map(brief)).toEqual(["steal StartV2 0"])
    const message = "An HTTP request was stolen by another user: GET /a"
    expect(second.take()).toEqual([{ _tag: "LogMessage", value: { message, level: { _tag: "Warn" } } }])
    expect(third.take().map(brief)).toEqual(["steal StartV2 0"])
    expect(w.answers).toEqual([{ id: 1, by: "workload", status: 200, body: "hello from b: GET /b" }])
  })

  it("are copied to mirrors and answered by the workload or the thief", () => {
    const w = world()
    const [mirror, thief] = [connect(w), connect(w)]
    for (const client of [mirror, thief]) client.say(announce("1.29.0"))
    mirror.say(mirrorPort)
    w.run()
    w.request("/a")
    w.run()
    expect(mirror.take().map(brief)).toEqual([
      "SwitchProtocolVersionResponse",
      "mirror subscribed 8080",
      "mirror StartV2 0",
      "mirror Close 0"
    ])
    expect(w.answers).toEqual([{ id: 0, by: "workload", status: 200, body: "hello from b: GET /a" }])
    thief.say(stealAll())
    w.run()
    w.request("/b")
    w.run()
    expect(mirror.take().map(brief)).toEqual(["mirror StartV2 1"])
    thief.say(respond(0n))
    w.run()
    expect(mirror.take().map(brief)).toEqual(["mirror Close 1"])
    expect(w.answers[1]).toMatchObject({ id: 1, by: "client", status: 201 })
  })

  it("that the wire cannot carry are the workload's", () => {
    const w = world()
    const client = connect(w)
    client.say(announce("1.29.0"), stealAll())
    w.run()
    w.request("not a path")
    w.request("/a", [["bad name", "x"]])
    w.run()
    expect(w.answers.map(({ by }) => by)).toEqual(["workload", "workload"])
  })

  it("end with the upgrade where one was asked for", () => {
    const w = world()
    const client = connect(w)
    client.say(announce("1.29.0"), stealAll())
    w.run()
    w.request("/ws", [["Upgrade", "websocket"]])
    w.run()
    client.take()
    client.say(
      steal({
        _tag: "HttpResponseChunked",
        value: {
          _tag: "Start",
          value: {
            port: 8080,
            connectionId: 0n,
            requestId: 0,
            internalResponse: { status: 101, version: "HTTP/1.1", headers: [], body: [] }
          }
        }
      })
    )
    w.run()
    expect(w.answers).toMatchObject([{ by: "client", status: 101 }])
    expect(client.take().map(brief)).toEqual(["steal Close 0"])
  })

  it("get 502 when their client leaves, and then nobody subscribes any more", () => {
    const w = world({ idleTtl: 60_000 })
    const [client, other] = [connect(w), connect(w)]
    client.say(announce("1.29.0"), stealAll())
    w.run()
    w.request("/a")
    w.run()
    client.leave()
    w.run(0)
    expect(w.answers).toEqual([
      { id: 0, by: "client", status: 502, body: "mirrord-agent v3.250.0: the request was dropped" }
    ])
    expect(w.agent.subscribedPorts.size).toBe(0)
    expect(w.agent.openTraffic).toBe(0)
    expect(w.agent.clients).toBe(1)
    other.say({ _tag: "Ping" })
    w.run()
    expect(other.take()).toEqual([{ _tag: "Pong" }])
  })

  it("already stolen are finished after PortUnsubscribe; new ones are the workload's", () => {
    const w = world()
    const client = connect(w)
    client.say(announce("1.29.0"), stealAll())
    w.run()
    w.request("/a")
    w.run()
    client.say(steal({ _tag: "PortUnsubscribe", value: 8080 }))
    w.run()
    w.request("/b")
    expect(w.answers).toMatchObject([{ id: 1, by: "workload" }])
    client.say(respond(0n))
    w.run()
    expect(w.answers[1]).toMatchObject({ id: 0, by: "client" })
  })
})

describe("subscriptions", () => {
  it("with a bad filter: Close, and the end for a mirror", () => {
    const w = world()
    const [thief, mirror] = [connect(w), connect(w)]
    thief.say(stealFiltered(header("(")), { _tag: "Ping" })
    mirror.say({ _tag: "Tcp", value: { _tag: "PortSubscribeFilteredHttp", port: 8080, filter: header("(") } })
    w.run()
    expect(
      thief
        .take()
        .map(({ _tag }) => _tag)
        .toSorted()
    ).toEqual(["Close", "Pong"])
    expect(mirror.take().map(({ _tag }) => _tag)).toEqual(["Close"])
    expect([thief.ended(), mirror.ended()]).toEqual([false, true])
    expect(w.agent.subscribedPorts.size).toBe(0)
  })

  it("are refused without a target", () => {
    const w = world({ pod: "" })
    const client = connect(w)
    client.say(mirrorPort, stealAll())
    w.run()
    expect(client.take().map(({ _tag }) => _tag)).toEqual(["Close", "Close"])
    expect(client.ended()).toBe(false)
  })

  it("take a port away from whoever had it, who is not told", () => {
    const w = world()
    const [first, second] = [connect(w), connect(w)]
    for (const client of [first, second]) {
      client.say(announce("1.29.0"), stealAll())
      w.run()
      client.take()
    }
    w.request("/a")
    w.run()
    expect([first.take().map(brief), second.take().map(brief)]).toEqual([[], ["steal StartV2 0"]])
  })
})

describe("old versions", () => {
  type Headers = ReadonlyArray<readonly [string, string]>
  const filtered = (version: string, announced: string | undefined, extra: Headers = []) => {
    const w = world({ version })
    const client = connect(w)
    if (announced !== undefined) client.say(announce(announced))
    client.say(stealFiltered(header("x-user: me")))
    w.run()
    client.take()
    w.request("/a", [["x-user", "me"], ...extra])
    w.run()
    return { heard: client.take().map(brief), answers: w.answers.map(({ by }) => by) }
  }

  it.each([
    ["1.29.0", undefined, "HttpRequest 0 /a"],
    ["1.2.2", "1.29.0", "HttpRequest 0 /a"],
    ["1.29.0", "1.3.0", "HttpRequestFramed 0 /a"],
    ["1.6.0", "1.29.0", "HttpRequestFramed 0 /a"],
    ["1.29.0", "1.19.0", "StartV2 0"],
    ["1.29.0", "1.29.0", "StartV2 0"]
  ])("an agent of %s sends a client of %s a request as %s", (version, announced, form) => {
    expect(filtered(version, announced)).toEqual({ heard: [`steal ${form}`], answers: [] })
  })

  it("starts in the first form are followed by their empty end", () => {
    expect(filtered("1.18.0", "1.29.0")).toEqual({ heard: ["steal StartV1 0", "steal Body 0"], answers: [] })
  })

  it("an upgrade below 1.5.0 is passed through", () => {
    expect(filtered("1.29.0", "1.4.0", [["upgrade", "websocket"]])).toEqual({ heard: [], answers: ["workload"] })
    expect(filtered("1.29.0", "1.5.0", [["upgrade", "websocket"]]).answers).toEqual([])
  })

  it("unfiltered and mirrored requests below 1.19.4 are the workload's, with a log line", () => {
    const w = world()
    const [thief, mirror, silent] = [connect(w), connect(w), connect(w)]
    thief.say(announce("1.19.0"), { _tag: "ReadyForLogs" }, stealAll())
    mirror.say(announce("1.19.0"), { _tag: "ReadyForLogs" }, mirrorPort)
    silent.say(announce("1.19.0"), mirrorPort)
    w.run()
    for (const client of [thief, mirror, silent]) client.take()
    w.request("/a")
    w.run()
    expect(w.answers).toMatchObject([{ by: "workload", status: 200 }])
    const log = (what: string) => {
      const message = `An HTTP request was not ${what}: the client's protocol version 1.19.0 is too old for it`
      return [{ _tag: "LogMessage", value: { message, level: { _tag: "Error" } } }]
    }
    expect(thief.take()).toEqual(log("stolen"))
    expect(mirror.take()).toEqual(log("mirrored"))
    expect(silent.take()).toEqual([])
    // A version may be announced again.
    for (const client of [thief, mirror]) client.say(announce("1.29.0"))
    w.run()
    for (const client of [thief, mirror]) client.take()
    w.request("/b")
    w.run()
    expect([thief.take().map(brief), mirror.take().map(brief)]).toEqual([["steal StartV2 0"], ["mirror StartV2 0"]])
  })

  it.each<readonly [string, ClientMessage]>([
    ["1.3.0", { _tag: "ReadyForLogs" }],
    [
      "1.14.0",
      {
        _tag: "GetAddrInfoRequestV2",
        value: { node: "db", servicePort: 0, family: { _tag: "Any" }, socktype: { _tag: "Any" }, flags: 0, protocol: 0 }
      }
    ],
    ["1.19.4", stealFiltered({ _tag: "Composite", all: true, filters: [{ _tag: "Method", value: { _tag: "Get" } }] })],
    ["1.21.0", { _tag: "Tcp", value: { _tag: "PortSubscribeFilteredHttp", port: 1, filter: header("a") } }],
    ["1.5.0", file({ _tag: "ReadLink", value: { path: "/a" } })]
  ])("an agent of %s drops the connection over what it cannot decode: %j", (version, message) => {
    const w = world({ version, idleTtl: 60_000 })
    const client = connect(w)
    client.say({ _tag: "Ping" }, message, { _tag: "Ping" })
    w.run()
    // Earlier messages are answered; there is no Close message.
    expect(client.take()).toEqual([{ _tag: "Pong" }])
    expect(client.ended()).toBe(true)
    expect(w.agent.clients).toBe(0)
  })
})

describe("life", () => {
  it.each([[[255]], [[7, 7]], [[2, 0]], [[]]])("drops a client over bytes that are not one message: %j", (octets) => {
    const w = world()
    const client = connect(w)
    client.raw(...octets)
    w.run()
    expect([client.take(), client.ended(), w.agent.clients]).toEqual([[], true, 0])
  })

  it("exits if no client comes in time", () => {
    const w = world({ firstClientTimeout: 30_000 })
    w.run(29_999)
    expect(w.exits).toEqual([])
    w.run(1)
    expect(w.exits).toEqual([30_000])
    const lateClient = connect(w)
    w.run()
    expect([lateClient.ended(), w.agent.clients, w.exits.length]).toEqual([true, 0, 1])
  })

  it("exits after the idle time when the last client has left, unless another one comes", () => {
    const w = world({ idleTtl: 10_000 })
    const [first, second] = [connect(w), connect(w)]
    w.run(100_000)
    first.leave()
    w.run(50_000)
    second.say({ _tag: "Close" })
    w.run(9_000)
    expect([second.ended(), w.agent.clients]).toEqual([true, 0])
    const third = connect(w)
    w.run(60_000)
    expect(w.exits).toEqual([])
    const left = w.kernel.now
    third.leave()
    w.run(9_999)
    const fourth = connect(w)
    fourth.leave()
    w.run(9_999)
    expect(w.exits).toEqual([])
    w.run(60_000)
    expect(w.exits).toEqual([left + 9_999 + 10_000])
  })

  it("answers a request that is under way when it exits", () => {
    const delays = [0, 0, 500]
    const w = world({ delay: () => delays.shift() ?? 0 })
    const client = connect(w)
    client.say(announce("1.29.0"), stealAll())
    w.run()
    w.request("/a")
    client.leave()
    w.run(1)
    expect([w.exits.length, w.answers.map(({ by }) => by)]).toEqual([1, ["workload"]])
    w.run()
    expect(w.answers).toHaveLength(1)
  })

  it("says nothing while paused, and everything after it", () => {
    const w = world()
    const client = connect(w)
    client.say(announce("1.29.0"), stealAll())
    w.run()
    client.take()
    client.say({ _tag: "Ping" })
    w.run(1)
    w.process.pause()
    client.say(announce("1.20.0"), { _tag: "Ping" })
    w.request("/a")
    w.run(60_000)
    expect([client.take(), w.answers]).toEqual([[], []])
    w.process.resume()
    w.run()
    const heard = client.take().map(brief)
    expect(heard.filter((line) => !line.startsWith("steal"))).toEqual(["Pong", "SwitchProtocolVersionResponse", "Pong"])
    expect(heard).toContain("steal StartV2 0")
  })

  it("does not exit after a pause in which a client came", () => {
    const w = world({ firstClientTimeout: 10_000 })
    w.process.pause()
    w.run(20_000)
    connect(w)
    w.process.resume()
    w.run(60_000)
    expect(w.exits).toEqual([])
  })

  it("never says anything again once it is dead", () => {
    const w = world()
    const client = connect(w)
    client.say(announce("1.29.0"), stealAll())
    w.run()
    client.take()
    client.say({ _tag: "Ping" })
    w.request("/a")
    w.run(1)
    w.process.kill()
    client.leave()
    w.run(60_000)
    expect([client.take(), w.answers, w.exits]).toEqual([[], [], []])
  })

  it("counts from 0 for each client", () => {
    const w = world()
    for (const name of ["first", "second"]) {
      const client = connect(w)
      client.say(announce("1.29.0"), stealAll())
      w.run()
      client.take()
      w.request(`/${name}`)
      w.run()
      expect(client.take().map(brief)).toEqual(["steal StartV2 0"])
    }
  })
})

type Deed =
  | { readonly _tag: "Connect" | "Respond" | "Leave" | "Unsubscribe"; readonly which: number }
  | { readonly _tag: "Subscribe"; readonly which: number; readonly mode: "all" | "filter" | "mirror" }
  | { readonly _tag: "Request"; readonly user: boolean }
  | { readonly _tag: "Pause" | "Resume" }
  | { readonly _tag: "Wait"; readonly ms: number }

const which = fc.nat(3)
const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({ _tag: fc.constantFrom("Connect", "Respond", "Leave", "Unsubscribe"), which }),
  fc.record({ _tag: fc.constant("Subscribe"), which, mode: fc.constantFrom("all", "filter", "mirror") }),
  fc.record({ _tag: fc.constant("Request"), user: fc.boolean() }),
  fc.record({ _tag: fc.constantFrom("Pause", "Resume") }),
  fc.record({ _tag: fc.constant("Wait"), ms: fc.nat(40) })
)

const subscriptions = { all: stealAll(), filter: stealFiltered(header("user: me")), mirror: mirrorPort }

/** Carries the deeds out and lets all clients leave; the result is what each client heard, in brief. */
const live = (deeds: ReadonlyArray<Deed>) => {
  const w = world({ idleTtl: 100_000, firstClientTimeout: 100_000, delay: () => w.kernel.random.int(0, 20) })
  const clients: Array<ReturnType<typeof connect> & { gone: boolean; answered: number }> = []
  let requests = 0
  const livingClient = (n: number) => {
    const client = clients[n % Math.max(1, clients.length)]
    return client?.gone === false ? client : undefined
  }
  for (const it of deeds) {
    switch (it._tag) {
      case "Connect": {
        const client = { ...connect(w), gone: false, answered: 0 }
        clients.push(client)
        client.say(announce("1.29.0"))
        break
      }
      case "Subscribe":
        livingClient(it.which)?.say(subscriptions[it.mode])
        break
      case "Unsubscribe":
        livingClient(it.which)?.say(steal({ _tag: "PortUnsubscribe", value: 8080 }))
        break
      case "Respond": {
        const client = livingClient(it.which)
        if (client?.heard.some((message) => brief(message) === `steal StartV2 ${client.answered}`) === true) {
          client.say(respond(BigInt(client.answered++)))
        }
        break
      }
      case "Leave": {
        const client = livingClient(it.which)
        if (client === undefined) break
        client.gone = true
        client.leave()
        break
      }
      case "Request":
        requests++
        w.request("/a", it.user ? [["user", "me"]] : [])
        break
      case "Pause":
        w.process.pause()
        break
      case "Resume":
        w.process.resume()
        break
      case "Wait":
        w.run(it.ms)
    }
  }
  w.process.resume()
  for (const client of clients) if (!client.gone) client.leave()
  w.run()
  const { clients: open, openTraffic } = w.agent
  const subscribed = w.agent.subscribedPorts.size
  w.run(200_000)
  return {
    requests,
    answers: w.answers,
    left: { open, openTraffic, subscribed },
    exits: w.exits.length,
    heard: clients.map(({ heard }) => heard.map(brief))
  }
}

describe("any life", () => {
  it("answers every request once and leaves nothing over", () => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 60 }), (deeds) => {
        const { requests, answers, left, exits } = live(deeds)
        const answered = answers.map(({ id }) => id).toSorted((a, b) => a - b)
        expect(answered).toEqual(Array.from({ length: requests }, (_, id) => id))
        expect(left).toEqual({ open: 0, openTraffic: 0, subscribed: 0 })
        expect(exits).toBe(1)
      }),
      { numRuns: 300, seed: 4 }
    )
  })

  it("subscribes before it sends traffic, counts up from 0 and closes only what it opened", () => {
    let traffic = 0
    fc.assert(
      fc.property(fc.array(deed, { minLength: 30, maxLength: 80 }), (deeds) => {
        for (const heard of live(deeds).heard) {
          for (const channel of ["steal", "mirror"]) {
            const own = heard.filter((line) => line.startsWith(`${channel} `))
            const lines = own.map((line) => line.slice(channel.length + 1))
            const started = lines.filter((line) => line.startsWith("StartV2 "))
            traffic += started.length
            expect(started).toEqual(started.map((_, id) => `StartV2 ${id}`))
            if (started.length > 0) expect(lines[0]).toBe("subscribed 8080")
            const closed = lines.filter((line) => line.startsWith("Close "))
            expect(new Set(closed).size).toBe(closed.length)
            for (const line of closed) {
              expect(lines.indexOf(line.replace("Close", "StartV2"))).toBeGreaterThanOrEqual(0)
              expect(lines.indexOf(line.replace("Close", "StartV2"))).toBeLessThan(lines.indexOf(line))
            }
          }
        }
      }),
      { numRuns: 300, seed: 4 }
    )
    expect(traffic).toBeGreaterThan(200)
  })

  it("is the same twice", () => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 60 }), (deeds) => {
        expect(live(deeds)).toEqual(live(deeds))
      }),
      { numRuns: 50, seed: 4 }
    )
  })
})
