import type { BodyFrame } from "../../../../src/domain/protocol/http-messages.ts"
import type { DaemonTcp } from "../../../../src/domain/protocol/incoming-messages.ts"
import { atLeast, minVersion, unannouncedVersion } from "../../../../src/domain/protocol/version.ts"
import {
  type Agent,
  type AgentCommand,
  type AgentConnection,
  begin,
  bytesOf,
  type Channel,
  done,
  incoming,
  type Mutable,
  say,
  setOpen,
  type Step,
  take,
  textOf,
  uriOf
} from "./agent-state.ts"

/**
 * Something happens to the target's pod. Traffic that nobody subscribed to, or that has no open connection, does not
 * reach the client.
 */
export const command = (agent: Agent, what: AgentCommand): Step => {
  const a = begin(agent)
  if (a.choked !== undefined) return done(a)
  switch (what._tag) {
    case "Raw":
      say(a, what.source, what.message)
      break
    case "Log":
      if (a.readyForLogs)
        say(a, "inline", { _tag: "LogMessage", value: { message: `log of ${a.name}`, level: { _tag: what.level } } })
      break
    case "Open":
      if (a.ports[what.channel].has(what.port)) openConnection(a, what.channel, what.port)
      break
    case "Request":
      if (a.ports[what.channel].has(what.port)) request(a, what.channel, what.port, what.pieces)
      break
    case "Say": {
      const [id, connection] = pick(a, what.channel, what.which, false) ?? []
      if (id === undefined || connection === undefined) break
      const text = `${a.name}/${what.channel}/${id}/${connection.said}`
      const echoes = what.channel === "TcpSteal" ? [...connection.echoes, text] : []
      setOpen(a, what.channel, id, { ...connection, said: connection.said + 1, echoes })
      incoming(a, what.channel, { _tag: "Data", value: { connectionId: id, bytes: bytesOf(text) } })
      break
    }
    case "End": {
      const [id] = pick(a, what.channel, what.which, undefined) ?? []
      if (id === undefined) break
      setOpen(a, what.channel, id, undefined)
      incoming(a, what.channel, { _tag: "Close", value: { connectionId: id } })
      if (what.twice) incoming(a, what.channel, { _tag: "Close", value: { connectionId: id } })
    }
  }
  return done(a)
}

const pick = (
  a: Mutable,
  channel: Channel,
  which: number,
  http: boolean | undefined
): readonly [bigint, AgentConnection] | undefined => {
  const all = [...a.open[channel]].filter(([, connection]) => http === undefined || connection.http === http)
  return all[which % Math.max(1, all.length)]
}

const openConnection = (a: Mutable, channel: Channel, port: number): void => {
  const connectionId = take(a, channel)
  setOpen(a, channel, connectionId, { port, http: false, echoes: [], said: 0 })
  const connection = {
    connectionId,
    remoteAddress: "10.0.0.9",
    destinationPort: port,
    sourcePort: 51000,
    localAddress: "10.0.0.5"
  }
  incoming(
    a,
    channel,
    atLeast(a.announced ?? unannouncedVersion, "1.19.4")
      ? { _tag: "NewConnectionV2", value: { connection, transport: { _tag: "Tcp" } } }
      : { _tag: "NewConnectionV1", value: connection }
  )
}

/**
 * A request in the form that the announced version gets (wire.md §4.4); a body of `pieces` parts, of which each names
 * the request.
 */
const request = (a: Mutable, channel: Channel, port: number, pieces: number): void => {
  const announced = minVersion(a.announced ?? unannouncedVersion, a.version)
  // Below 1.19.4 unfiltered requests are passed through and nothing is mirrored as HTTP.
  if (!atLeast(announced, "1.19.4") && (channel === "Tcp" || !a.filtered.has(port))) return
  const connectionId = take(a, channel)
  setOpen(a, channel, connectionId, { port, http: true, echoes: [], said: 0 })
  const uri = uriOf(a.name, channel, connectionId)
  const head = { method: "POST", uri, headers: [], version: "HTTP/1.1" }
  const part: BodyFrame = { _tag: "Data", value: bytesOf(uri) }
  const rest = Array.from({ length: pieces }, () => part)
  const body = (isLast: boolean): DaemonTcp => ({
    _tag: "HttpRequestChunked",
    value: { _tag: "Body", value: { frames: [part], isLast, connectionId, requestId: 0 } }
  })
  if (atLeast(announced, "1.19.0")) {
    incoming(a, channel, {
      _tag: "HttpRequestChunked",
      value: {
        _tag: "StartV2",
        value: {
          connectionId,
          requestId: 0,
          request: { ...head, body: { frames: [], isLast: pieces === 0 } },
          metadata: { _tag: "V1", source: { ip: "10.0.0.9", port: 51000 }, destination: { ip: "10.0.0.5", port } },
          transport: { _tag: "Tcp" }
        }
      }
    })
  } else if (atLeast(announced, "1.7.0")) {
    const internalRequest = { ...head, body: [] }
    incoming(a, channel, {
      _tag: "HttpRequestChunked",
      value: { _tag: "StartV1", value: { internalRequest, connectionId, requestId: 0, port } }
    })
    if (pieces === 0) incoming(a, channel, body(true))
  } else if (atLeast(announced, "1.3.0")) {
    const internalRequest = { ...head, body: rest }
    return incoming(a, channel, {
      _tag: "HttpRequestFramed",
      value: { internalRequest, connectionId, requestId: 0, port }
    })
  } else {
    const internalRequest = { ...head, body: bytesOf(textOf(rest)) }
    return incoming(a, channel, { _tag: "HttpRequest", value: { internalRequest, connectionId, requestId: 0, port } })
  }
  for (let piece = 1; piece <= pieces; piece++) incoming(a, channel, body(piece === pieces))
}
