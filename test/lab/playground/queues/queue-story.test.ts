/** The story of queues as a user starts it, with ElasticMQ of the machine. */

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

describeWith(["ElasticMQ"], "npm start -- --queues --once --json", () => {
  it("tells the whole story, every step true, and leaves nothing behind", async () => {
    const before = new Set(folders())
    const subnet = subnetOf("playground, queues")
    const { code, lines } = await play(["--queues", "--once", "--session-ttl-secs", "5", "--subnet", String(subnet)])
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
    expect(folders().filter((folder) => !before.has(folder) && mine.includes(folder))).toEqual([])
    expect(operatorsIn(mine)).toEqual([])
    await expect(fetch(String(told("consumers")?.["endpoint"]))).rejects.toThrow("fetch failed")
  })
})
