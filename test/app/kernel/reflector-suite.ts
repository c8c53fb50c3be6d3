import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Exit, Scope } from "effect"
import { afterEach, expect, it } from "vitest"
import { RandomStream } from "../../../lab/simulation/kernel/random-stream.ts"
import { defaultTimes, type KubeApiTimes } from "../../../src/adapters/kubernetes/api-server.ts"
import { makeKubeApi } from "../../../src/adapters/kubernetes/kube-api-http.ts"
import { makeReflector } from "../../../src/app/kernel/reflector.ts"
import { configMaps } from "../../../src/domain/resources/core-kinds.ts"
import type { KubeApi, KubeObject } from "../../../src/ports/kube-api.ts"
import type { KubeApiServer } from "../../adapters/kubernetes/kube-api-suite.ts"
import { startApiRelay } from "../../support/api-relay.ts"
import { untilTrue } from "../../support/until-true.ts"

/** A cluster for {@link reflectorSuite}, with the service account `default/reader` of the other suite. */
export interface ReflectedCluster extends Pick<KubeApiServer, "admin" | "stop" | "restart" | "forget"> {
  readonly server: string
  readonly caPem: string
  readonly tokenOf: (namespace: string, serviceAccount: string) => Promise<string>
  /** A token that is accepted for about so many seconds from now on. */
  readonly shortTokenOf: (namespace: string, serviceAccount: string, seconds: number) => Promise<string>
}

const run = Effect.runPromise
const namespace = "default"

/** Nothing gives up for want of time unless a test is about that. */
const patient: KubeApiTimes = {
  ...defaultTimes,
  connectTimeout: 600_000,
  headersTimeout: 600_000,
  bodyTimeout: 600_000
}

/** The ConfigMaps of one label, written as an administrator. */
const mapsOf = (admin: KubeApi, label: string) => {
  const at = (name: string): string => `${label}-${name}`
  const write = async (name: string, value: string): Promise<void> => {
    const object = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: at(name), labels: { of: label } },
      data: { value }
    }
    await run(
      admin
        .create(configMaps, object, namespace)
        .pipe(
          Effect.catch((error) =>
            error.reason === "AlreadyExists"
              ? admin.mergePatch(configMaps, at(name), { data: { value } }, { namespace })
              : Effect.fail(error)
          )
        )
    )
  }
  const erase = (name: string): Promise<void> => run(admin.delete(configMaps, at(name), { namespace }))
  const list = async () => (await run(admin.list(configMaps, { namespace, labelSelector: `of=${label}` }))).items
  return { write, erase, list }
}

const byName = (
  objects: ReadonlyArray<KubeObject>
): ReadonlyArray<readonly [string, string | undefined, string | undefined]> =>
  objects
    .map(({ metadata }) => [metadata.name, metadata.uid, metadata.resourceVersion] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))

/**
 * The source of truth for every controller, over a real connection, through every trouble that servers and networks
 * make. After each the cache is what the server has, and whoever kept books by the reports has the same.
 */
export const reflectorSuite = (cluster: () => ReflectedCluster): void => {
  const closers: Array<() => Promise<void>> = []
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close()
  })
  let labels = 0

  const follow = async (
    options: {
      readonly times?: Partial<KubeApiTimes>
      readonly token?: string
      readonly before?: ReadonlyArray<string>
    } = {}
  ) => {
    const { admin, caPem, server, tokenOf } = cluster()
    const label = `reflected-${++labels}`
    const maps = mapsOf(admin, label)
    for (const name of options.before ?? ["a", "b", "c"]) await maps.write(name, "1")
    const relay = await startApiRelay({ server, caPem })
    const directory = await mkdtemp(join(tmpdir(), "braid-reflector-"))
    const tokenFile = join(directory, "token")
    const renew = (token: string): Promise<void> => writeFile(tokenFile, `${token}\n`)
    await renew(options.token ?? (await tokenOf(namespace, "reader")))
    const config = new KubeConfig()
    config.loadFromOptions({
      clusters: [{ name: "relay", server: relay.server, caData: Buffer.from(relay.caPem).toString("base64") }],
      users: [{ name: "reader", authProvider: { name: "tokenFile", config: { tokenFile } } }],
      contexts: [{ name: "relay", cluster: "relay", user: "reader" }],
      currentContext: "relay"
    })
    const books = new Map<string, KubeObject>()
    const reports: Array<string> = []
    const contradictions: Array<string> = []
    const scope = Effect.runSync(Scope.make())
    const api = await run(makeKubeApi(config, "relay", { ...patient, ...options.times }).pipe(Scope.provide(scope)))
    const reflector = await run(
      makeReflector(
        api,
        configMaps,
        (object, deleted) => {
          const { name } = object.metadata
          reports.push(`${deleted ? "-" : "+"}${name.slice(label.length + 1)}`)
          const known = books.get(name)?.metadata.uid
          if (deleted && known !== object.metadata.uid) contradictions.push(`${name} is gone, but was never there`)
          if (!deleted && known !== undefined && known !== object.metadata.uid)
            contradictions.push(`${name} was made again, but is not gone`)
          if (deleted) books.delete(name)
          else books.set(name, object)
        },
        { namespace, labelSelector: `of=${label}` }
      ).pipe(Scope.provide(scope))
    )
    closers.push(async () => {
      await run(Scope.close(scope, Exit.void))
      await relay.close()
      await rm(directory, { recursive: true, force: true })
    })
    /** Waits until cache and books are the server's objects. */
    const caughtUp = async (): Promise<void> => {
      await untilTrue("the cache is what the server has", async () => {
        const wanted = JSON.stringify(byName(await maps.list()))
        return (
          JSON.stringify(byName(reflector.all())) === wanted && JSON.stringify(byName([...books.values()])) === wanted
        )
      })
      expect(contradictions).toEqual([])
    }
    const lists = (): number => relay.seen.filter(({ isWatch }) => !isWatch).length
    const watches = () => relay.seen.filter(({ isWatch }) => isWatch)
    const watching = (): Promise<unknown> => untilTrue("a watch is open", () => watches().at(-1)?.status === 200)
    await run(reflector.awaitSynced)
    await caughtUp()
    await watching()
    return { ...maps, relay, reflector, reports, caughtUp, lists, watches, watching, renew, api }
  }

  /** Deletes one, changes one, makes one again under its name, and makes a new one. */
  const change = async ({
    erase,
    write
  }: Pick<Awaited<ReturnType<typeof follow>>, "write" | "erase">): Promise<void> => {
    await erase("a")
    await write("b", "2")
    await erase("c")
    await write("c", "2")
    await write("d", "1")
  }

  it("a watch that the server ends is taken up where it stopped: each event once, in order, no list", async () => {
    const all = await follow()
    all.relay.breakOff("end")
    await change(all)
    await all.caughtUp()
    expect(all.reports.slice(3)).toEqual(["-a", "+b", "-c", "+c", "+d"])
    expect(all.lists()).toBe(1)
  })

  it.each(["reset", "mid-line"] as const)(
    "a watch that breaks off (%s): what happened meanwhile is found, deletions and objects made again among it",
    async (how) => {
      const all = await follow()
      all.relay.set("shut")
      all.relay.breakOff(how)
      await change(all)
      // Only now is the network back, and everything must come from the list.
      await untilTrue("the server is known to be away", () => all.reflector.problem()?.reason === "Unreachable")
      expect([all.reflector.synced(), all.reflector.all().length]).toEqual([
        true,
        how === "reset" ? 3 : expect.any(Number)
      ])
      all.relay.set("carrying")
      await all.caughtUp()
      expect(all.reports.filter((report) => report === "-a" || report === "-c")).toEqual(["-a", "-c"])
      expect(all.reflector.problem()).toBeUndefined()
    }
  )

  it("a restart of the API server empties nothing; what changes afterwards is seen", async () => {
    const { restart, stop } = cluster()
    const all = await follow()
    await stop()
    await untilTrue("the server is known to be away", () => all.reflector.problem()?.reason === "Unreachable")
    expect([all.reflector.synced(), all.reflector.all().length]).toEqual([true, 3])
    await restart()
    await change(all)
    await all.caughtUp()
    expect(all.reports.filter((report) => report.startsWith("-"))).toEqual(["-a", "-c"])
  })

  it("compacted history: a watch from before it is told 410, and a list finds the rest", async () => {
    const all = await follow()
    all.relay.freeze()
    await change(all)
    await cluster().forget()
    const sizes = new Set<number>()
    const before = all.lists()
    all.relay.breakOff("end")
    await untilTrue("a list after the break", () => {
      sizes.add(all.reflector.all().length)
      return all.lists() > before
    })
    await all.caughtUp()
    expect(all.watches().some(({ head }) => head.includes('"code":410'))).toBe(true)
    // Never emptied in between.
    expect([...sizes].every((size) => size >= 3)).toBe(true)
    expect(all.reports.filter((report) => report === "-a" || report === "-c")).toEqual(["-a", "-c"])
  })

  it("429 with Retry-After, for lists and for watches: it comes back and has missed nothing", async () => {
    const all = await follow()
    all.relay.refuse(3, 1)
    all.relay.breakOff("end")
    await change(all)
    await untilTrue("three answers 429", () => all.relay.seen.filter(({ status }) => status === 429).length === 3)
    await all.caughtUp()
    expect(all.reports.filter((report) => report === "-a" || report === "-c")).toEqual(["-a", "-c"])
    expect(all.reflector.problem()).toBeUndefined()
  })

  it(
    "a token that expires under the open watch: the watch goes on; later a refusal and no emptiness; the renewed " +
      "token finds the rest",
    async () => {
      const { shortTokenOf, tokenOf } = cluster()
      const all = await follow()
      // Long enough for the watch to be opened with it, however slow the machine is.
      for (let seconds = 4; ; seconds *= 2) {
        const count = all.watches().length
        await all.renew(await shortTokenOf(namespace, "reader", seconds))
        all.relay.breakOff("end")
        await untilTrue(
          "a watch ended or failed",
          () =>
            (all.watches().length > count && all.watches().at(-1)?.status !== 0) ||
            all.reflector.problem() !== undefined
        )
        if (all.reflector.problem() === undefined && all.watches().at(-1)?.status === 200) break
        await all.renew(await tokenOf(namespace, "reader"))
        await untilTrue("nothing is wrong any more", () => all.reflector.problem() === undefined)
        await all.watching()
      }
      await untilTrue("the token is refused", () =>
        run(
          Effect.match(all.api.list(configMaps, { namespace }), {
            onSuccess: () => false,
            onFailure: ({ reason }) => reason === "Unauthorized"
          })
        )
      )
      await all.write("e", "1")
      await all.caughtUp()
      all.relay.breakOff("end")
      await untilTrue("the token is known to be refused", () => all.reflector.problem()?.reason === "Unauthorized")
      await change(all)
      expect(all.reflector.all().length).toBe(4)
      await all.renew(await tokenOf(namespace, "reader"))
      await all.caughtUp()
      expect(all.reflector.problem()).toBeUndefined()
      expect(all.reports.filter((report) => report.startsWith("-"))).toEqual(["-a", "-c"])
    }
  )

  it("a server that stops answering under the open watch is given up, and asked again", async () => {
    const all = await follow({ times: { watchSeconds: 1, watchTimeout: 3_000 } })
    // A watch that has just been ended is followed by another one.
    await untilTrue("a watch is open and frozen", () => all.watches().at(-1)?.status === 200 && all.relay.freeze() > 0)
    await change(all)
    await all.caughtUp()
    expect(all.reports.filter((report) => report === "-a" || report === "-c")).toEqual(["-a", "-c"])
  })

  it("a server that stops answering altogether is unreachable, not empty, and found again", async () => {
    const all = await follow({ times: { headersTimeout: 1_000, watchSeconds: 1, watchTimeout: 3_000 } })
    all.relay.set("deaf")
    all.relay.freeze()
    await untilTrue("the silence is noticed", () => all.reflector.problem()?.reason === "Unreachable")
    await change(all)
    expect([all.reflector.synced(), all.reflector.all().length]).toEqual([true, 3])
    all.relay.set("carrying")
    await all.caughtUp()
    expect(all.reports.filter((report) => report === "-a" || report === "-c")).toEqual(["-a", "-c"])
  })

  it("bookmarks move a quiet watch on: it is taken up from there, and nothing is told twice", async () => {
    const { admin } = cluster()
    const elsewhere = mapsOf(admin, `unwatched-${labels}`)
    const all = await follow({ times: { watchSeconds: 4 } })
    const known = Math.max(...(await all.list()).map(({ metadata }) => Number(metadata.resourceVersion)))
    for (const name of ["x", "y", "z"]) await elsewhere.write(name, "1")
    const newest = Math.max(...(await elsewhere.list()).map(({ metadata }) => Number(metadata.resourceVersion)))
    // Only a bookmark can have told of a version beyond the objects' own.
    await untilTrue("a watch from the newest version", () =>
      all.watches().some(({ url }) => Number(url.searchParams.get("resourceVersion")) >= newest)
    )
    expect(newest).toBeGreaterThan(known)
    expect(all.reports).toEqual(["+a", "+b", "+c"])
    await change(all)
    await all.caughtUp()
    expect(all.reports.slice(3)).toEqual(["-a", "+b", "-c", "+c", "+d"])
    expect(all.lists()).toBe(1)
  })

  it("many changes among many troubles, one after the other", async () => {
    const random = new RandomStream("troubles")
    const names = Array.from({ length: 12 }, (_, index) => `n${index}`)
    const all = await follow({ before: names, times: { headersTimeout: 2_000, watchSeconds: 2, watchTimeout: 4_000 } })
    const present = new Set(names)
    const trouble = [
      () => all.relay.breakOff("end"),
      () => all.relay.breakOff("reset"),
      () => all.relay.breakOff("mid-line"),
      () => all.relay.freeze(),
      () => all.relay.refuse(1, 1),
      () => all.relay.set("shut"),
      () => all.relay.set("carrying")
    ]
    for (let turn = 0; turn < 150; turn++) {
      const name = names[random.int(0, names.length - 1)] ?? ""
      if (present.has(name) && random.chance(0.4)) {
        await all.erase(name)
        present.delete(name)
      } else {
        await all.write(name, String(turn))
        present.add(name)
      }
      if (random.chance(0.3)) trouble[random.int(0, trouble.length - 1)]?.()
      // The follower gets a chance to see some states and not others.
      if (turn % 30 === 29) {
        all.relay.set("carrying")
        await all.caughtUp()
      }
    }
    expect(all.reflector.all().length).toBe(present.size)
  })
}
