/**
 * A client that says whatever a test or the fuzzer wants, over a real WebSocket, and keeps to no rule of the protocol.
 * The client that keeps to all of them is `session-client.ts`.
 */

import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Schedule, type Scope } from "effect"
import type WebSocket from "ws"
import { makeKubeApi } from "../../src/adapters/kubernetes/kube-api-http.ts"
import { clientMessage, type ClientMessage } from "../../src/domain/protocol/client-message.ts"
import { daemonMessage, type DaemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import { protocolVersion } from "../../src/domain/protocol/version.ts"
import { boundMinutes } from "./bound.ts"
import { requestUserCertificate } from "./request-user-certificate.ts"
import { openSessionSocket } from "./session-client.ts"

/** A person with a kubeconfig and a user certificate. */
export interface User {
  readonly kubeconfigPath: string
  readonly certificate: string
}

/** A cluster that writes kubeconfigs. */
interface UsersCluster {
  readonly userKubeconfig: (options: {
    readonly user: string
    readonly groups: ReadonlyArray<string>
    readonly path: string
  }) => Effect.Effect<void, unknown>
}

export const newUser = (cluster: UsersCluster, name: string, path: string): Effect.Effect<User, unknown> =>
  Effect.gen(function* () {
    yield* cluster.userKubeconfig({ user: name, groups: ["system:masters"], path })
    const config = new KubeConfig()
    config.loadFromFile(path)
    const api = yield* makeKubeApi(config, "primary")
    return { kubeconfigPath: path, certificate: yield* requestUserCertificate(api, name) }
  }).pipe(Effect.scoped)

/** A client that says whatever a test wants, and keeps to no rule of the protocol. */
export interface RawSession {
  readonly socket: WebSocket
  readonly say: (message: ClientMessage) => void
  /** Waits for the next message that `pick` recognises. Fails when the connection ends before. */
  readonly hear: <A>(pick: (message: DaemonMessage) => A | undefined) => Promise<A>
  /** Why the connection ended, if it did. */
  readonly ended: () => string | undefined
}

const wrap = (socket: WebSocket): RawSession => {
  const listeners = new Set<(message: DaemonMessage | undefined) => void>()
  let ended: string | undefined
  const end = (reason: string): void => {
    ended ??= reason
    for (const listener of [...listeners]) listener(undefined)
  }
  const say = (message: ClientMessage): void => socket.send(clientMessage.encode(message), { binary: true })
  socket.on("message", (data: Buffer) => {
    const decoded = daemonMessage.decode(new Uint8Array(data))
    if (decoded._tag !== "Decoded") return end(`a message that cannot be decoded: ${decoded._tag}`)
    if (decoded.value._tag === "Close") return end(`the operator closed it: ${decoded.value.value}`)
    if (decoded.value._tag === "OperatorPing") say({ _tag: "OperatorPong", value: decoded.value.value })
    for (const listener of [...listeners]) listener(decoded.value)
  })
  socket.on("close", (code, reason) => end(`it was closed with ${code} ${reason.toString("utf8")}`))
  socket.on("error", (error) => end(error.message))
  return {
    socket,
    say,
    hear: (pick) =>
      new Promise((resolve, reject) => {
        const listener = (message: DaemonMessage | undefined): void => {
          const picked = message === undefined ? undefined : pick(message)
          if (message !== undefined && picked === undefined) return
          listeners.delete(listener)
          if (picked === undefined) reject(new Error(`the connection ended: ${ended}`))
          else resolve(picked)
        }
        if (ended === undefined) listeners.add(listener)
        else reject(new Error(`the connection ended: ${ended}`))
      }),
    ended: () => ended
  }
}

/** Connects to the demo workload and agrees on the protocol's version. On a loaded machine it takes some tries. */
export const openRawSession = (user: User, sessionId: bigint): Effect.Effect<RawSession, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const where = { ...user, namespace: "default", target: "deployment.myapp", sessionId }
    const everySecond = Schedule.spaced("1 second")
    const socket = yield* Effect.retry(openSessionSocket(where), { times: boundMinutes * 60, schedule: everySecond })
    const session = wrap(socket)
    session.say({ _tag: "SwitchProtocolVersion", value: protocolVersion })
    yield* Effect.promise(() =>
      session.hear(({ _tag }) => (_tag === "SwitchProtocolVersionResponse" ? true : undefined))
    )
    return session
  })

/** Lets the session's agent connect to an address, and gives the connection's id. */
export const connectOut = async (session: RawSession, port: number, uid: bigint): Promise<bigint> => {
  const connected = session.hear((message) =>
    message._tag === "TcpOutgoing" && message.value._tag === "ConnectV2" && message.value.value.uid === uid
      ? message.value.value.connect
      : undefined
  )
  const remoteAddress = { _tag: "Ip", value: { ip: "127.0.0.1", port } } as const
  session.say({ _tag: "TcpOutgoing", value: { _tag: "ConnectV2", value: { uid, remoteAddress } } })
  const result = await connected
  if (result._tag === "Err") throw new Error(`port ${port} cannot be connected: ${result.error._tag}`)
  return result.value.connectionId
}
