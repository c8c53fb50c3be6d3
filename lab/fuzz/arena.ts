/**
 * The place of the fuzzer: an embedded playground with operators as real processes, whose memory and holdings can be
 * read; people with sessions; a member and agents whose answers can be changed on the way. Sends no hostile input.
 */

import { join } from "node:path"
import { PassThrough, type Duplex } from "node:stream"
import { connect, TLSSocket } from "node:tls"
import { fileURLToPath } from "node:url"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Logger, type Scope } from "effect"
import { asString, at } from "../../src/domain/json.ts"
import { agentProgram } from "../agent/agent-command.ts"
import { newUser, type User } from "../client/raw-session.ts"
import type { EmbeddedCluster } from "../cluster/embedded-cluster.ts"
import { createAuthority, type KeyPair } from "../cluster/http/pki.ts"
import { type ContainerContext, type ContainerProgram, signalsReady } from "../cluster/node/container-program.ts"
import { processProgram } from "../cluster/node/process-program.ts"
import type { RunningCluster } from "../playground/local-cluster.ts"
import { startPlayground } from "../playground/playground.ts"
import { PlaygroundError } from "../playground/readiness.ts"
import { topology } from "../playground/topology.ts"
import { type Address, Peers } from "./peer.ts"
import { Tamperer, type Tampering } from "./tamper.ts"
import { readVitals, type Vitals } from "./vitals.ts"

const program = fileURLToPath(new URL("../../src/app/braid.ts", import.meta.url))
const preload = new URL("vitals-preload.ts", import.meta.url)
/** The port that the Service of the operator knows, and the one of the operator behind a relay. */
const ports = { service: 3000, behindRelay: 3001 } as const
/** The workload whose agents may be changed; the live sessions are at another one. */
const victim = "victim"
export const victimTarget = `deployment.${victim}`

/** Changes for the streams that begin from now on; of none if it is empty. */
export class Tampered {
  changes: ReadonlyArray<Tampering> | undefined
}

export interface Operator {
  readonly name: "primary" | "member"
  readonly cluster: RunningCluster<EmbeddedCluster>
  /** Past the API server, and past the relay. */
  readonly address: Address
  readonly peers: Peers
  /** A user who may do everything in the cluster. */
  readonly user: User
  readonly vitals: () => Promise<Vitals>
  /** Lines of the log that no input may cause. */
  readonly alarms: () => ReadonlyArray<string>
  readonly restarts: () => number
  /** Of the log before the process ended last, or until now. */
  readonly lastLines: () => ReadonlyArray<string>
}

export interface Arena {
  readonly primary: Operator
  readonly member: Operator
  /** Answers of the victim's agents in the member's cluster. */
  readonly agents: Tampered
  /** Answers of the member's operator to links of the session with this id. */
  readonly links: Tampered & { sessionId: string | undefined }
}

/** Signs of a defect in the log, which is also the process's standard error. */
const alarm =
  /request failed|connect failed|Unhandled|ExceededWarning|(?:Type|Range|Reference)Error|defect|assertion|out of memory/i

/** The operator as the image starts it, with a window into its process. */
const operatorProcess = (directory: string, behindRelay: boolean, env: Readonly<Record<string, string>>) =>
  processProgram({
    command: ({ pod }) => [
      process.execPath,
      "--max-semi-space-size=2",
      `--import=${preload.href}?socket=${socketOf(directory, asString(at(pod, "spec", "nodeName")) ?? "")}`,
      program,
      "operator"
    ],
    env: ({ podIp }) => ({
      ...env,
      // A leader that changes on a busy machine would be no one's fault.
      OPERATOR_LEASE_DURATION_SECS: "300",
      OPERATOR_LEASE_RENEW_DEADLINE_SECS: "240",
      ...(behindRelay ? { OPERATOR_ADDR: `${podIp}:${ports.behindRelay}` } : {})
    })
  })

const socketOf = (directory: string, node: string): string => join(directory, `${node}.sock`)

/** Writes pieces, of which `undefined` is the end. */
const pour = (socket: Duplex, pieces: ReadonlyArray<Uint8Array | undefined>): void => {
  for (const piece of pieces) {
    if (piece === undefined) return void socket.destroy()
    socket.write(piece)
  }
}

/** Passes bytes on both ways, those of the server through `through`, once a client has said who it is. */
const relay = (client: TLSSocket, server: TLSSocket, through: (head: string) => Tamperer | undefined): void => {
  let tamperer: Tamperer | undefined
  let isAnswered = false
  let asked = ""
  client.on("data", (chunk: Buffer) => {
    if (asked.length < 8192) {
      asked += chunk.toString("latin1")
      tamperer ??= through(asked)
    }
    server.write(chunk)
  })
  server.on("data", (chunk: Buffer) => {
    // The head of the 101 passes unchanged, so that a link comes about.
    if (tamperer === undefined || !isAnswered) client.write(chunk)
    else pour(client, tamperer.pass(chunk))
    isAnswered = true
  })
  for (const [one, other] of [
    [client, server],
    [server, client]
  ] as const) {
    one.on("error", () => one.destroy())
    one.on("end", () => other.end())
    one.on("close", () => other.destroy())
  }
}

/** The member's operator with a relay in front of it, which speaks TLS on both sides. */
const relayed =
  (operator: ContainerProgram, identity: KeyPair, frontProxy: () => KeyPair | undefined, links: Arena["links"]) =>
  (container: ContainerContext): Effect.Effect<number, never, Scope.Scope> =>
    container
      .listen(ports.service, (socket) => {
        const client = new TLSSocket(socket as never, {
          isServer: true,
          requestCert: true,
          rejectUnauthorized: false,
          cert: identity.certPem,
          key: identity.keyPem
        })
        client.on("error", () => client.destroy())
        client.once("secure", () => {
          const keys = client.getPeerCertificate().subject?.CN === "front-proxy-client" ? frontProxy() : undefined
          const options = {
            host: container.podIp,
            port: ports.behindRelay,
            rejectUnauthorized: false,
            allowHalfOpen: true,
            ...(keys === undefined ? {} : { cert: keys.certPem, key: keys.keyPem })
          }
          const server = connect(options)
          relay(client, server, (head) =>
            links.changes !== undefined && head.includes(`x-session-id: ${links.sessionId}\r\n`)
              ? new Tamperer(links.changes)
              : undefined
          )
        })
      })
      .pipe(
        Effect.catch(() => Effect.succeed(undefined)),
        Effect.andThen(operator(container))
      )

/** The words of an agent, changed on its way to the operator. */
const tampered = (socket: Duplex, changes: ReadonlyArray<Tampering>): Duplex => {
  const tamperer = new Tamperer(changes)
  const out = new PassThrough()
  out.on("data", (chunk: Buffer) => pour(socket, tamperer.pass(chunk)))
  out.on("end", () => socket.end())
  const both = socket as Duplex & { write: Duplex["write"]; end: Duplex["end"] }
  return new Proxy(both, {
    get: (target, name) => {
      if (name === "write") return out.write.bind(out)
      if (name === "end") return out.end.bind(out)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === "function" ? value.bind(target) : value
    }
  })
}

/** The reference agent; the victim's may be changed. */
const hostileAgent = (agents: Tampered): ContainerProgram =>
  signalsReady((container) => {
    const target = container.args[container.args.indexOf("-c") + 1] ?? ""
    const isVictims = container
      .onNode()
      .some(({ containerId, pod }) => pod.startsWith(victim) && containerId.endsWith(target) && target !== "")
    if (!isVictims) return agentProgram(container)
    return agentProgram({
      ...container,
      listen: (port, onConnection) =>
        container.listen(port, (socket, source) =>
          onConnection(agents.changes === undefined ? socket : tampered(socket, agents.changes), source)
        )
    })
  })

const victimManifests = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: ${victim}, namespace: default, labels: { app: ${victim} } }
spec:
  replicas: 1
  selector: { matchLabels: { app: ${victim} } }
  template:
    metadata: { labels: { app: ${victim} } }
    spec:
      containers:
      - { name: ${victim}, image: braid-demo, ports: [{ containerPort: 80 }] }
`

const podsOf = ({ cluster }: RunningCluster<EmbeddedCluster>, app: string) =>
  cluster.store
    .list({ group: "", version: "v1", resource: "pods" }, {})
    .items.filter(({ metadata }) => metadata.labels?.["app"] === app)

interface Ground {
  readonly directory: string
  readonly stranger: KeyPair
  readonly alarms: ReadonlyMap<string, ReadonlyArray<string>>
  readonly lastLines: ReadonlyMap<string, ReadonlyArray<string>>
}

const makeOperator = (
  name: Operator["name"],
  cluster: RunningCluster<EmbeddedCluster>,
  { alarms, directory, lastLines, stranger }: Ground
): Effect.Effect<Operator, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const pod = () => podsOf(cluster, "mirrord-operator")[0]
    const { description } = cluster
    return {
      name,
      cluster,
      address: {
        host: asString(at(pod(), "status", "podIP")) ?? "",
        port: name === "member" ? ports.behindRelay : ports.service
      },
      peers: yield* Effect.acquireRelease(
        Effect.sync(() => new Peers({ "front proxy": cluster.cluster.frontProxy(), stranger, nobody: undefined })),
        (all) => Effect.sync(() => all.cutAll())
      ),
      user: yield* newUser(cluster.cluster, `fuzz-${name}`, join(directory, `fuzz-${name}.kubeconfig`)),
      vitals: () => readVitals(socketOf(directory, `${description.name}-node`)),
      alarms: () => alarms.get(`${description.name}-node`) ?? [],
      lastLines: () => lastLines.get(`${description.name}-node`) ?? [],
      restarts: () => {
        const statuses = at(pod(), "status", "containerStatuses")
        return Array.isArray(statuses) ? Number(at(statuses[0], "restartCount")) : 0
      }
    }
  })

/** Starts the arena; it lives as long as the scope. `subnet`: the first of two networks for pods. */
export const startArena = (
  directory: string,
  subnet: number,
  progress: (step: string) => void
): Effect.Effect<Arena, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const agents = new Tampered()
    const links = Object.assign(new Tampered(), { sessionId: undefined })
    const authority = yield* Effect.promise(() => createAuthority("fuzz", Date.now))
    const stranger = yield* Effect.promise(() => authority.issue({ commonName: "front-proxy-client" }))
    const clusters = topology("primary-default", subnet)
    const alarms = new Map<string, Array<string>>()
    const recent = new Map<string, ReadonlyArray<string>>()
    const lastLines = new Map<string, ReadonlyArray<string>>()
    let frontProxyOfMember: (() => KeyPair) | undefined
    const operator: ContainerProgram = (container) => {
      const node = asString(at(container.pod, "spec", "nodeName")) ?? ""
      const found = alarms.get(node) ?? []
      alarms.set(node, found)
      const watched: ContainerContext = {
        ...container,
        log: (line) => {
          if (alarm.test(line)) found.push(line)
          if (line.includes("operator serves")) lastLines.set(node, [...(recent.get(node) ?? [])])
          recent.set(node, [...(recent.get(node) ?? []), line].slice(-30))
          container.log(line)
        }
      }
      return node === "cluster-a-node"
        ? operatorProcess(directory, false, {})(watched)
        : relayed(operatorProcess(directory, true, {}), stranger, () => frontProxyOfMember?.(), links)(watched)
    }
    // The relay needs the key before the playground is ready, and the playground waits for the relay.
    const playground = yield* startPlayground({
      topology: clusters,
      directory,
      sessionTtlSecs: 5,
      remoteSessionTimeoutSecs: 60,
      operator,
      agent: hostileAgent(agents),
      started: (one) => {
        if (one.name === "cluster-b") frontProxyOfMember = one.frontProxy
      },
      progress: (step) => Effect.sync(() => progress(step))
    }).pipe(Effect.provide(Layer.merge(NodeServices.layer, Logger.layer([]))))
    const member = playground.clusters.find(({ description }) => !description.isPrimary)
    if (member === undefined) return yield* new PlaygroundError({ detail: "the topology has no member" })
    for (const { cluster } of playground.clusters) cluster.apply(victimManifests)
    for (const one of playground.clusters)
      while (!podsOf(one, victim).some((pod) => at(pod, "status", "phase") === "Running"))
        yield* Effect.sleep("50 millis")
    const ground = { directory, stranger, alarms, lastLines }
    return {
      primary: yield* makeOperator("primary", playground.primary, ground),
      member: yield* makeOperator("member", member, ground),
      agents,
      links
    }
  })
