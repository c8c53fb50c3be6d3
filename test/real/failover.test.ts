/** Cases of mirrord's own client through changes of leaders, with many clients at once. */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest"
import { pods } from "../../lab/cluster/store/resource-refs.ts"
import { operatorNamespace } from "../../lab/playground/manifests.ts"
import { subnetOf } from "../address-plan.ts"
import { eventually } from "../support/eventually.ts"
import { until } from "../support/until.ts"
import { fleetIs } from "./fleet-health.ts"
import { describeReal, request, runClient, type RunningCommand, usePlayground } from "./harness.ts"
import {
  callsOf,
  isAct,
  isOfLease,
  labelledReplicas,
  leaderBeside,
  leaseHolder,
  logOf,
  processOf,
  readyReplicas,
  type Replica
} from "./replicas.ts"
import { traffic } from "./served-session.ts"
import { agents, children, nothingLeft, parents, workloadClusters } from "./sessions.ts"

/** Number of real clients. */
const clientCount = 30
/** Clients that start at the same time; more would overload two cores. */
const startedAtOnce = 4
/**
 * Seconds between two pings of a client. A client notices a stopped leader by its pings, and comes back an interval or
 * two later. Longer than a Lease lives, because the client would otherwise come to the stopped leader again, where an
 * API server lets it wait for ever (docs/operating/runbooks.md).
 */
const pingInterval = 20

const uids = (
  objects: ReadonlyArray<{ readonly metadata: { readonly name?: string; readonly uid?: string } }>
): ReadonlyMap<string, string> =>
  new Map(objects.map(({ metadata }) => [metadata.name ?? "", metadata.uid ?? ""] as const).toSorted())

/** Clients whose requests are under way all the time; those of all would leave two cores for nothing else. */
const busyCount = 3

/**
 * Many real clients with their internal proxies, each with its part of the workload's requests, while the leader is
 * killed and the next leader stopped. At rest a client takes 80 MB and no processor time; only its start is expensive.
 */
describeReal("two replicas of the primary's operator", ["mirrord", "layerApp"], ({ layerApp, mirrord }) => {
  const real = usePlayground({
    topology: "management",
    subnet: subnetOf("real client, failover"),
    primaryReplicas: 2,
    // Sessions live for half a minute without a client.
    sessionTtlSecs: 30
  })
  const clients: Array<{ readonly user: string; readonly app: RunningCommand }> = []
  const former: Array<Replica> = []

  beforeAll(async () => {
    await fleetIs(real.playground())
    for (let first = 0; first < clientCount; first += startedAtOnce) {
      const started = Array.from({ length: Math.min(startedAtOnce, clientCount - first) }, (_, index) => {
        const user = `c${first + index}`
        const home = real.home(user)
        const config = join(home, "mirrord.json")
        writeFileSync(config, JSON.stringify({ internal_proxy: { ping_interval: pingInterval } }))
        const args = [
          "exec",
          "--target",
          "deployment/myapp",
          "-f",
          config,
          "--",
          layerApp,
          "--steal",
          `80:^x-user: ${user}$`,
          "--respond",
          user
        ]
        return {
          user,
          app: runClient({ file: mirrord, args, home, kubeconfig: real.kubeconfig() })
        }
      })
      clients.push(...started)
      for (const { app } of started) expect(await app.waitForEvent("subscribed")).toMatchObject({ port: 80, ok: true })
    }
  })
  afterAll(() => {
    for (const { app } of clients) app.stop()
  })
  /** The replica that leads now, as soon as another replica stands by. */
  const leaderToFail = async (): Promise<Replica> => {
    await until("two replicas that are ready", () => (readyReplicas(real.playground()).length === 2 ? true : undefined))
    const leader = await leaderBeside(real, former)
    former.push(leader)
    return leader
  }

  /** Sessions, their children and the agents, by name and uid: none may be lost or doubled. */
  const whatIsThere = () => ({
    parents: uids(parents(real.playground())),
    members: workloadClusters(real.playground()).map((cluster) => ({
      cluster: cluster.description.name,
      children: uids(children(cluster)),
      agents: uids(agents(cluster))
    }))
  })
  /** Each client gets the requests of its user from either cluster, and no other requests. */
  const allWork = (round: string): Promise<unknown> =>
    Promise.all(
      clients.flatMap(({ app, user }) =>
        workloadClusters(real.playground()).map(({ description, entry = "" }) =>
          eventually(`${user} answers a request in ${description.name}, ${round}\n${app.stderr()}`, async () => {
            const path = `/${round}/${description.name}`
            expect(await request(entry, path, { "x-user": user })).toBe(`${user} ${path}\n`)
          })
        )
      )
    )
  /** No client has ended, and each has come back so often. */
  const reconnects = (): ReadonlyArray<number> =>
    clients.map(({ app, user }) => {
      const names = app.events().map(({ event }) => event)
      expect(
        names.filter((name) => name === "closed" || name === "exit"),
        user
      ).toEqual([])
      return names.filter((name) => name === "resubscribed").length
    })
  const cameBack = (before: ReadonlyArray<number>): Promise<unknown> =>
    until("every client's return", () =>
      reconnects().every((count, index) => count > (before[index] ?? 0)) ? true : undefined
    )

  /** Requests of some clients, from now until they are told to have been served again. */
  const underWay = () => {
    const all = clients.slice(0, busyCount).map((client) => traffic(real, client))
    onTestFinished(() => Promise.all(all.map(({ stop }) => stop())).then(() => undefined))
    return {
      /**
       * Nobody was answered wrongly, and until the client was back there were only such answers: the workload's, or
       * none to a request that had waited.
       */
      servedAgain: async (meanwhile: ReadonlyArray<"workload" | "none">): Promise<void> => {
        for (const { answers, stop } of all) {
          for (const { description } of workloadClusters(real.playground())) {
            const seen = () => answers(description.name)
            await eventually(`requests are served again in ${description.name}`, () =>
              expect(seen().at(-1)).toBe("application")
            )
            expect(
              meanwhile.some((answer) => seen().includes(answer)),
              seen().join(" ")
            ).toBe(true)
          }
          await stop()
        }
      }
    }
  }

  it(`serve ${clientCount} sessions of real clients`, async () => {
    await allWork("before")
    // Objects of a real cluster are seen with some delay.
    const seen = await until("every session", () => {
      const there = whatIsThere()
      return there.parents.size === clientCount && there.members.every(({ children: { size } }) => size === clientCount)
        ? there
        : undefined
    })
    expect(seen.members).toHaveLength(2)
    for (const member of seen.members) expect(member.agents.size).toBeGreaterThan(0)
    expect(labelledReplicas(real.playground())).toEqual([leaseHolder(real.playground())])
  })

  it("the leader is killed and its pod is gone as with its node: the other takes over every session", async () => {
    const killed = await leaderToFail()
    const before = { there: whatIsThere(), reconnects: reconnects() }
    const requests = underWay()
    process.kill(processOf(killed), "SIGKILL")
    // Its pod goes at once, as by the loss of its node. Otherwise its own next container might lead again.
    real.playground().primary.cluster.store.delete(pods, operatorNamespace, killed.name)
    await leaderBeside(real, former)
    await cameBack(before.reconnects)
    await allWork("after-kill")
    await requests.servedAgain(["workload"])
    expect(whatIsThere()).toEqual(before.there)
    await fleetIs(real.playground())
  })

  it("the next leader is stopped until another one leads: what it wakes up with, it does not write", async () => {
    const stopped = await leaderToFail()
    const before = { there: whatIsThere(), reconnects: reconnects() }
    const pid = processOf(stopped)
    const log = await logOf(real.playground(), stopped)
    // Requests that are under way when the leader stops cannot be called back (docs/concepts/decisions.md), and
    // heartbeats carry no version.
    await until("a moment without a heartbeat", () =>
      callsOf(real.playground(), stopped, Date.now() - 500).every((call) => isOfLease(call) || !isAct(call))
        ? true
        : undefined
    )
    const requests = underWay()
    process.kill(pid, "SIGSTOP")
    let woken = 0
    let leader: Replica
    try {
      leader = await leaderBeside(real, former)
      await cameBack(before.reconnects)
      await allWork("while-stopped")
      await requests.servedAgain(["workload", "none"])
      expect(whatIsThere()).toEqual(before.there)
    } finally {
      woken = Date.now()
      process.kill(pid, "SIGCONT")
    }
    await eventually("the end of its term", async () => {
      const since = (await logOf(real.playground(), stopped)).slice(log.length).join("\n")
      expect(since).toContain("the operator does not lead any more")
      expect(since).toContain("the operator stands by")
    })
    await until("the stopped replica's readiness", () =>
      readyReplicas(real.playground()).find(({ uid }) => uid === stopped.uid)
    )
    const calls = () => callsOf(real.playground(), stopped, woken)
    await until("its looks at the Lease", () =>
      calls().filter((call) => isOfLease(call) && call.method === "GET").length > 2 ? true : undefined
    )
    await allWork("after-waking")
    // A leader whose term is over removes only its own label.
    expect(calls().filter(isAct)).toEqual([
      {
        cluster: "primary",
        method: "PATCH",
        path: `/api/v1/namespaces/${operatorNamespace}/pods/${stopped.name}`,
        status: 200
      }
    ])
    expect(processOf(stopped)).toBe(pid)
    expect(leaseHolder(real.playground())).toEqual(leader)
    expect(labelledReplicas(real.playground())).toEqual([leader])
    expect(whatIsThere()).toEqual(before.there)
    reconnects()
  })

  it("leave nothing when the clients have gone", async () => {
    for (const { app } of clients) app.stop()
    await nothingLeft(real)
  })
})
