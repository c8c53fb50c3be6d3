import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { Effect, Exit, Scope } from "effect"
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest"
import { connectOut, newUser, openRawSession, type RawSession, type User } from "../../lab/client/raw-session.ts"
import { processProgram } from "../../lab/cluster/node/process-program.ts"
import type { Playground } from "../../lab/playground/local-cluster.ts"
import { startPlayground } from "../../lab/playground/playground.ts"
import { topology } from "../../lab/playground/topology.ts"
import { image } from "../../scripts/image.mjs"
import { asNumber, asObjects, asString, at } from "../../src/domain/json.ts"
import { subnetOf } from "../address-plan.ts"
import { describeWith } from "../support/describe-with.ts"
import { memoryCgroup, type MemoryCgroup } from "../support/memory-cgroup.ts"
import { quietNode } from "../support/quiet-node.ts"
import { stagedProgram } from "../support/staged-image.ts"
import { until } from "../support/until.ts"
import {
  download,
  flood,
  largeBody,
  manyItems,
  refusedUpgrade,
  sink,
  source,
  strangers,
  subscription,
  tinyWrite,
  unfinished,
  unfinishedHeaders
} from "./attacks.ts"
import { memoryLimit } from "./memory-limit.ts"

const mebibyte = 1024 * 1024
/** Size of each download: a gigabyte takes minutes, so only `npm run test:long` has it. */
const defaultMebibytes = process.env["BRAID_TEST_LONG"] === "true" ? "1024" : "100"
const downloadSize = Number(process.env["BRAID_LIMITS_MIB"] ?? defaultMebibytes) * mebibyte
/**
 * So long the real client waits for an answer to its ping before it gives the session up, in ms. Here this is processor
 * time of the operators: what else the machine does is not their fault.
 */
const maxWait = 30_000
/** The unit of `/proc/<pid>/stat`, ms. */
const tick = 10

/** Processor time of the processes in a group so far, ms. */
const processorTime = ({ procs }: MemoryCgroup): number =>
  sum(
    readFileSync(procs, "utf8")
      .trim()
      .split("\n")
      .filter((pid) => pid !== "")
      .map((pid) => {
        const [, fields = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")
        return tick * sum(fields.split(" ").slice(11, 13).map(Number))
      })
  )

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((all, one) => all + one, 0)
describeWith(["memory groups"], "operators within exactly the chart's memory limit", () => {
  const groups = new Map<string, MemoryCgroup>()
  const scope = Effect.runSync(Scope.make())
  const run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Promise<A> =>
    Effect.runPromise(effect.pipe(Scope.provide(scope)))
  let directory = ""
  let program = ""
  let playground: Playground
  const users: Array<User> = []
  let sessions = 0n
  /** Of outgoing connections. */
  let uids = 1n
  let caseScope = Effect.runSync(Scope.make())

  /** As the image starts it, in the group of its node. */
  const operator = processProgram({
    command: ({ pod }) => [
      "/bin/sh",
      "-c",
      'echo $$ > "$0" && exec "$@"',
      groups.get(asString(at(pod, "spec", "nodeName")) ?? "")?.procs ?? "",
      process.execPath,
      ...image.options,
      program,
      "operator"
    ],
    // Memory is asked about here: on a busy machine the leader must not change in between.
    env: () => ({
      ...image.environment,
      OPERATOR_LEASE_DURATION_SECS: "300",
      OPERATOR_LEASE_RENEW_DEADLINE_SECS: "240"
    })
  })

  const operatorPods = () =>
    playground.clusters.flatMap(({ cluster, description }) =>
      cluster.store
        .list({ group: "", version: "v1", resource: "pods" }, { namespace: "mirrord" })
        .items.filter(({ metadata }) => metadata.labels?.["app"] === "mirrord-operator")
        .map((pod) => ({
          name: description.name,
          ip: asString(at(pod, "status", "podIP")) ?? "",
          restarts: asObjects(at(pod, "status", "containerStatuses")).map((one) => asNumber(one["restartCount"])),
          ready: asObjects(at(pod, "status", "containerStatuses")).every((one) => one["ready"] === true)
        }))
    )

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "braid-limits-"))
    program = await stagedProgram()
    const clusters = topology("management", subnetOf("limits of the chart"))
    for (const { name } of clusters.clusters) groups.set(`${name}-node`, memoryCgroup(name, memoryLimit))
    playground = await run(
      startPlayground({
        topology: clusters,
        directory,
        sessionTtlSecs: 60,
        remoteSessionTimeoutSecs: 120,
        operator,
        progress: () => Effect.void
      }).pipe(Effect.provide(quietNode))
    )
    for (let number = 0; number < 6; number++)
      users.push(
        await run(newUser(playground.primary.cluster, `user-${number}`, join(directory, `user-${number}.kubeconfig`)))
      )
  })
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    for (const group of groups.values()) group.remove()
    rmSync(directory, { recursive: true, force: true })
  })

  beforeEach(async () => {
    caseScope = Effect.runSync(Scope.make())
    await until("all operators are ready", () => (operatorPods().every(({ ready }) => ready) ? true : undefined))
  })
  afterEach(() => Effect.runPromise(Scope.close(caseScope, Exit.void)))

  /** A new session, of one of the users in turn; it ends with the test. */
  const openSession = (): Promise<RawSession> => {
    sessions++
    const user = users[Number(sessions) % users.length]
    if (user === undefined) throw new Error("no users")
    return Effect.runPromise(openRawSession(user, 0xb0_0000n + sessions).pipe(Scope.provide(caseScope)))
  }

  /**
   * Does something with a session again and again until so many bytes have come. A connection that is lost, as on a
   * machine that stands still for some seconds, is replaced as clients do. Gives how often.
   */
  const whileConnected = async (
    wanted: number,
    use: (session: RawSession, came: (bytes: number) => void) => Promise<void>
  ): Promise<number> => {
    let bytes = 0
    for (let lost = 0; ; lost++) {
      const session = await openSession()
      try {
        while (bytes < wanted) await use(session, (more) => void (bytes += more))
        return lost
      } catch (error) {
        if (session.ended() === undefined || lost === 10) throw error
      }
    }
  }

  /** Runs an attack beside a session that pings, and sees what it does to the session and to the operators. */
  const besides = async (attack: () => Promise<unknown>): Promise<void> => {
    const state = () => ({
      oomKills: [...groups.values()].map((group) => group.oomKills()),
      restarts: operatorPods().map(({ name, restarts }) => ({ name, restarts }))
    })
    const before = state()
    for (const group of groups.values()) group.forgetPeak()
    const bystander = await openSession()
    let over = false
    let slowest = 0
    const pinging = (async () => {
      const spent = () => sum(Array.from(groups.values(), processorTime))
      while (!over) {
        const begun = spent()
        const pong = bystander.hear(({ _tag }) => (_tag === "Pong" ? true : undefined))
        bystander.say({ _tag: "Ping" })
        while (!(await Promise.race([pong, pause(200, false, { ref: false })])) && spent() - begun < maxWait);
        slowest = Math.max(slowest, spent() - begun)
        if (slowest >= maxWait) return
        await pause(100)
      }
    })().catch(() => undefined)
    let result: unknown
    try {
      result = await Promise.race([attack(), pinging])
    } finally {
      over = true
    }
    await pinging
    const peaks = [...groups].map(([name, group]) => `${name} ${Math.round(group.peak() / mebibyte)} MiB`)
    console.log(`${JSON.stringify(result)}; slowest ping ${slowest} ms of processor time; peaks: ${peaks.join(", ")}`)
    expect(state()).toEqual(before)
    expect(bystander.ended()).toBeUndefined()
    expect(slowest).toBeLessThan(maxWait)
  }

  it("carry 20 busy sessions", async () => {
    const [rounds, answerSize] = [10, 256 * 1024]
    const server = await source(answerSize)
    try {
      await besides(async () => {
        const lost = await Promise.all(
          Array.from({ length: 20 }, () =>
            whileConnected(rounds * answerSize, async (session, came) => {
              const env = session.hear((message) => (message._tag === "GetEnvVarsResponse" ? true : undefined))
              session.say({
                _tag: "GetEnvVarsRequest",
                value: { envVarsFilter: new Set(), envVarsSelect: new Set(["*"]) }
              })
              await env
              await download(session, server.port, uids++, came)
            })
          )
        )
        return `connections lost: ${sum(lost)}`
      })
    } finally {
      server.close()
    }
  })

  it(`carry three downloads of ${downloadSize / mebibyte} MiB at once`, async () => {
    const server = await source(downloadSize)
    try {
      await besides(async () => {
        const begun = performance.now()
        const lost = await Promise.all(
          Array.from({ length: 3 }, () =>
            whileConnected(downloadSize, (session, came) => download(session, server.port, uids++, came))
          )
        )
        const rate = (3 * downloadSize) / mebibyte / ((performance.now() - begun) / 1000)
        return `${rate.toFixed(1)} MiB/s, connections lost: ${sum(lost)}`
      })
    } finally {
      server.close()
    }
  })

  it("survive bodies of 30 MB for the certificate endpoint", () =>
    besides(() => Promise.all(users.slice(0, 3).map(({ kubeconfigPath }) => largeBody(kubeconfigPath, 30_000_000)))))

  it("survive six messages of 64 MiB that are never finished", () =>
    besides(async () => {
      const attackers = await Promise.all(Array.from({ length: 6 }, openSession))
      await Promise.all(attackers.map((session) => unfinished(session, 64 * mebibyte - 1)))
      return attackers.map((session) => session.ended() ?? "open")
    }))

  it("survive tiny messages to a server that does not read", async () => {
    const server = await sink()
    try {
      await besides(async () => {
        const session = await openSession()
        const id = await connectOut(session, server.port, 1n)
        return flood(session, tinyWrite(id), 1_500_000)
      })
    } finally {
      server.close()
    }
  })

  it("survive a client that asks and does not read the answers", () =>
    besides(async () => {
      const [holder, asker] = await Promise.all([openSession(), openSession()])
      const held = holder.hear((message) =>
        message._tag === "TcpSteal" && message.value._tag === "SubscribeResult" ? true : undefined
      )
      holder.socket.send(subscription, { binary: true })
      await held
      asker.socket.pause()
      return flood(asker, subscription, 1_000_000)
    }))

  it.each([
    ["100 peers that send headers of 0.9 MB and do not finish them", 100, unfinishedHeaders(900_000)],
    ["300 peers whose upgrade is refused and who stay", 300, refusedUpgrade],
    ["1,500 peers that say nothing after the TLS handshake", 1_500, ""]
  ])("survive %s", (_peers, count, text) =>
    besides(async () => {
      const primary = operatorPods().find(({ name }) => name === playground.primary.description.name)
      const end = await strangers({ host: primary?.ip ?? "", port: 3000, text, count })
      // Some pings' time in which the operator holds what it was sent.
      await pause(3_000)
      return `${await end()} still open`
    })
  )

  it("survive a message of 60 MB of empty items, twice", () =>
    besides(async () => {
      const session = await openSession()
      await flood(session, manyItems(60_000_000), 2)
      // Sent behind them: it is answered when they are done with, unless the connection has ended.
      const pong = session.hear(({ _tag }) => (_tag === "Pong" ? "answered" : undefined))
      session.say({ _tag: "Ping" })
      return pong.catch(() => session.ended())
    }))
})
