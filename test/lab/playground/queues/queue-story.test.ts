/** The story of queues as a user starts it, with ElasticMQ of the machine and real control planes. */

import { existsSync } from "node:fs"
import { dirname } from "node:path"
import { expect, it } from "vitest"
import { subnetOf } from "../../../address-plan.ts"
import { describeWith } from "../../../support/describe-with.ts"
import { folders, operatorsIn, play } from "../play.ts"

const steps = [
  "clusters",
  "workload",
  "operators",
  "consumers",
  "split",
  "messages",
  "restored",
  "messages-later",
  "main-queues-deleted",
  "ready"
]

/** On embedded clusters `test/real/splits.test.ts` has the same behaviour in each landing. */
const places = process.env["BRAID_TEST_LONG"] === "true" ? [["--kubernetes"], []] : [["--kubernetes"]]

describeWith(["ElasticMQ", "helm", "control plane"], "npm start -- --queues --once --json", () => {
  it.each(places.map((place) => [place]))("tells the whole story with %j, and leaves nothing behind", async (place) => {
    const before = new Set(folders())
    const subnet = subnetOf("playground, queues")
    const flags = ["--queues", "--once", "--session-ttl-secs", "5", "--subnet", String(subnet)]
    const { code, lines } = await play([...flags, ...place])
    expect(lines.filter(({ ok }) => !ok)).toEqual([])
    expect(lines.map(({ step }) => step)).toEqual(steps)
    expect(code).toBe(0)
    const told = (name: string) => lines.find(({ step }) => step === name)
    expect(told("messages")).toMatchObject({
      sent: 10_000,
      read: { session: 1_000, "cluster-a": 4_500, "cluster-b": 4_500 }
    })
    expect(told("messages-later")).toMatchObject({
      sent: 100,
      read: { session: 1_000, "cluster-a": 4_550, "cluster-b": 4_550 }
    })
    const stays = [told("split")?.["queue"]]
    expect(told("main-queues-deleted")).toMatchObject({ read: told("messages-later")?.["read"], stays })
    const paths = Object.values(told("ready")?.["kubeconfig"] as Readonly<Record<string, string>>)
    const mine = paths.map((path) => path.split("/").at(-2) ?? "")
    expect(paths.filter((path) => existsSync(dirname(path)))).toEqual([])
    expect(folders().filter((folder) => !before.has(folder) && mine.includes(folder))).toEqual([])
    expect(operatorsIn(mine)).toEqual([])
    await expect(fetch(String(told("consumers")?.["endpoint"]))).rejects.toThrow("fetch failed")
  })
})
