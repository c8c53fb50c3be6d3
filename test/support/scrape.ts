/** Scrapes of operators, and an operator that has much to tell. */

import { Clock, Effect, Logger, Metric } from "effect"
import { CurrentFailingLists, FailingLists } from "../../src/app/kernel/failing-lists.ts"
import { CurrentMeasurements, Measurements } from "../../src/app/kernel/metrics.ts"
import { CurrentPeopleCounts, PeopleCounts } from "../../src/app/kernel/people-counts.ts"
import { CurrentRelayCounts, RelayCounts } from "../../src/app/kernel/relay-counts.ts"
import { CurrentWatchLags, WatchLags } from "../../src/app/kernel/watch-lags.ts"
import { serveMetrics } from "../../src/app/metrics/serve-metrics.ts"
import { clusterName } from "../../src/domain/fleet/cluster-name.ts"
import { clientMessage } from "../../src/domain/protocol/client-message.ts"
import type { FrameHandlers } from "../../src/ports/frame-channel.ts"
import { pass, request } from "./connect-request.ts"
import { giveCredentials } from "./fleet.ts"
import { connectTo, opened, startWorld } from "./memory-session.ts"
import { virtualTime } from "./virtual-time.ts"

/** One line of a scrape. */
export interface Series {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Reads the text that Prometheus reads. */
export const readSeries = (text: string): ReadonlyArray<Series> =>
  text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name = "", , labels = "", value = ""] = /^([a-zA-Z_:][\w:]*)(\{(.*)\})? (\S+)$/u.exec(line) ?? [
        `no series: ${line}`
      ]
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/gu)]
      return {
        name,
        labels: Object.fromEntries(pairs.map(([, key = "", text = ""]) => [key, text])),
        value: Number(value)
      }
    })

/** Metrics of an operator that starts with none. */
export const separately = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() =>
    effect.pipe(
      Effect.provideService(Metric.MetricRegistry, new Map()),
      Effect.provideService(CurrentMeasurements, new Measurements()),
      Effect.provideService(CurrentPeopleCounts, new PeopleCounts()),
      Effect.provideService(CurrentRelayCounts, new RelayCounts()),
      Effect.provideService(CurrentWatchLags, new WatchLags()),
      Effect.provideService(CurrentFailingLists, new FailingLists())
    )
  )

/** Serves metrics at a free port of this machine, and gives what `GET /metrics` answers. `patience`: in ms. */
export const scraper = (leads: () => boolean = () => true, patience = 5_000) =>
  Effect.gen(function* () {
    const { port } = yield* serveMetrics({ host: "127.0.0.1", port: 0, fallback: undefined, leads, patience })
    const get = (path: string) =>
      Effect.promise(async () => {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`)
        return { status: answer.status, type: answer.headers.get("content-type"), text: await answer.text() }
      })
    return { get, port, scrape: Effect.map(get("/metrics"), ({ text }) => text) }
  })

const silent: FrameHandlers = { message: () => {}, ended: () => {}, drained: () => {}, ignored: () => {} }

/** A part of the token with which the primary reaches a member. */
export const canary = "canary-of-a-token"

/** A token that ends in an hour. `now`: epoch ms. */
const tokenOfAnHour = (now: number): string => {
  const claims = { iat: now / 1_000, exp: now / 1_000 + 3_600, sub: "system:serviceaccount:mirrord:envoy" }
  const parts = ["{}", JSON.stringify(claims)].map((part) => Buffer.from(part).toString("base64url"))
  return [...parts, canary].join(".")
}

/**
 * The scrape of a primary and its members after a session was served, in which a client said something odd, and after
 * requests of people to a member and to one that has left.
 */
export const scrapeAfterSession: Effect.Effect<string> = Effect.gen(function* () {
  const { scrape } = yield* scraper()
  const { certificate, world } = yield* startWorld()
  giveCredentials(world.primary.api, "a", tokenOfAnHour(yield* Clock.currentTimeMillis))
  const people = yield* CurrentPeopleCounts
  people.begin(clusterName("a"))
  for (const name of ["a", "left"]) people.end(clusterName(name), "read", 200)
  yield* pass("1 second")
  const channel = opened(yield* connectTo(world.primary, request(certificate)))
  channel.open(silent)
  channel.send(clientMessage.encode({ _tag: "SwitchProtocolVersion", value: "1.29.0" }))
  channel.send(clientMessage.encode({ _tag: "Ping" }))
  channel.send(new Uint8Array([1, 0xff]))
  yield* pass("10 seconds")
  return yield* scrape
}).pipe(Effect.scoped, separately, Effect.provide([virtualTime, Logger.layer([])]), Effect.orDie)
