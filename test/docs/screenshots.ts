/**
 * `npm run screenshots`: makes the pictures of the pages that the documents show, from a playground of three clusters
 * with sessions, of which one cluster is cut. The use of the weeks before is made up.
 */

import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Logger, Schedule } from "effect"
import type { Page } from "playwright-core"
import { uniformInt } from "pure-rand/distribution/uniformInt"
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus"
import { mergedKubeconfig } from "../../lab/playground/merged-kubeconfig.ts"
import { startPlayground } from "../../lab/playground/playground.ts"
import { openStorySession } from "../../lab/playground/story-session.ts"
import { topology } from "../../lab/playground/topology.ts"
import { openUsageFile } from "../../src/adapters/usage/usage-store.ts"
import { startUi } from "../../src/app/commands/ui/ui-command.ts"
import type { UsageRecord } from "../../src/domain/usage/usage-record.ts"
import { subnetOf } from "../address-plan.ts"
import { record } from "../domain/usage/some-records.ts"
import { startBrowser } from "../lab/simulation/report/browser.ts"

const hour = 3_600_000
const people = ["ann", "bob", "carla", "dmitri", "eve", "farid", "greta", "hugo", "ines", "jon", "kim", "lea"]
const targets = ["deployment/checkout", "deployment/web", "statefulset/cart", "deployment/search"]
const clusters = [
  ["cluster-a", "cluster-b", "cluster-c"],
  ["cluster-a", "cluster-b"],
  ["cluster-a", "cluster-c"]
]

/** The sessions of the last four weeks, in the hours of work, the same at each run but for the days. */
const earlierUse = (now: number): ReadonlyArray<UsageRecord> => {
  const random = xoroshiro128plus(7)
  const chance = (): number => uniformInt(random, 0, 999) / 1_000
  const pick = <A>(all: readonly [A, ...ReadonlyArray<A>] | ReadonlyArray<A>): A | undefined =>
    all[Math.floor(chance() * all.length)]
  const hours = Array.from({ length: 28 * 24 }, (_, index) => now - (index + 4) * hour).filter((at) => {
    const date = new Date(at)
    return date.getUTCDay() % 6 !== 0 && date.getUTCHours() >= 7 && date.getUTCHours() < 17
  })
  const session = (user: string, startedAt: number, longest: number, more: Partial<UsageRecord> = {}): UsageRecord =>
    record({
      ...{ id: `${user} ${startedAt}`, machineId: Buffer.from(`the machine of ${user}`).toString("base64") },
      ...{ kubernetesUser: user, clientUser: user, startedAt, target: pick(targets) ?? "", ...more },
      ...{ clusters: pick(clusters) ?? [], stoppedAt: startedAt + Math.ceil(chance() * longest) }
    })
  return hours.flatMap((at) => [
    ...people.flatMap((user, index) => (chance() < 0.14 - index / 100 ? [session(user, at, 2.5 * hour)] : [])),
    ...(chance() < 0.6 ? [session("runner", at, hour / 5, { kind: "ci" })] : [])
  ])
}

const wide = { width: 1_280, height: 800 }
const folder = new URL("../../docs/images/", import.meta.url).pathname

const openPage = async (page: Page, link: string): Promise<void> => {
  page.setDefaultTimeout(600_000)
  await page.goto(link)
}

/** A picture of the page from its top to the end of a part. */
const pictureTo = async (page: Page, part: string, file: string): Promise<void> => {
  const { height, y } = (await page.locator(part).boundingBox()) ?? { height: 0, y: 0 }
  const clip = { x: 0, y: 0, width: wide.width, height: Math.ceil(y + height + 16) }
  await page.screenshot({ path: join(folder, file), fullPage: true, clip })
}

/** Makes both pictures of what is at these links. */
const take = async (fleet: string, usage: string): Promise<void> => {
  const { browser, stop } = await startBrowser()
  try {
    const page = await browser.newPage({ viewport: wide, colorScheme: "light" })
    await openPage(page, fleet)
    await page.locator("#sessions td.lane").getByText("left out").first().waitFor()
    await pictureTo(page, "#sessions", "live-page.png")
    await openPage(page, usage)
    await page.locator("#users tbody tr").first().waitFor()
    await pictureTo(page, "#days", "usage-page.png")
  } finally {
    await stop()
  }
}

const main = Effect.gen(function* () {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "braid-screenshots-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
  )
  yield* Effect.scoped(
    Effect.flatMap(openUsageFile(join(directory, "usage.db")), (store) =>
      Effect.forEach(earlierUse(Date.now()), store.put, { discard: true })
    )
  )
  const playground = yield* startPlayground({
    topology: topology("three-workloads", subnetOf("screenshots")),
    directory,
    sessionTtlSecs: 60,
    remoteSessionTimeoutSecs: 60,
    recordsUsage: true,
    progress: (step) => Effect.sync(() => console.log(step))
  })
  const open = openStorySession(playground, { target: "deployment.myapp" }).pipe(
    Effect.retry(Schedule.spaced("1 second"))
  )
  yield* Effect.replicateEffect(open, 2)
  const kubeconfig = mergedKubeconfig(
    join(directory, "kubeconfig"),
    playground.clusters.map(({ cluster: { kubeconfigPath }, description: { name } }) => ({ name, kubeconfigPath }))
  )
  yield* playground.clusters.find(({ description }) => description.name === "cluster-c")?.cluster.stop() ?? Effect.void
  const choice = { kubeconfig, context: undefined, port: 0, noBrowser: true, withApi: false } as const
  const [fleet, usage] = yield* Effect.all([
    startUi({ ...choice, opens: "fleet" }),
    startUi({ ...choice, opens: "usage" })
  ])
  mkdirSync(folder, { recursive: true })
  yield* Effect.promise(() => take(fleet.link, usage.link))
})

await Effect.runPromise(main.pipe(Effect.scoped, Effect.provide(Layer.merge(NodeServices.layer, Logger.layer([])))))
process.exit(0)
