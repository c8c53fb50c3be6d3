import { describe, expect, it } from "vitest"
import { queueCells, queueRows } from "../../../../src/domain/commands/overview/queue-row.ts"
import type { StoredQueue } from "../../../../src/domain/queues/stored-queue.ts"
import { createdAt, owner, place, pod, servedSplit, split } from "../../../support/queue-split.ts"

const [orders, refunds] = split.record.sources
const main = (name: string, source: typeof orders, uid = "split"): StoredQueue => ({
  object: name,
  name,
  place,
  url: "",
  sessionKey: undefined,
  quietSince: undefined,
  owner: { _tag: "Main", split: uid },
  source: source ?? { identity: "", reference: "", name: "", url: "", ids: [] }
})
const dated = { ...split, createdAt: Date.parse(createdAt) }
const cellsOf = (...of: Parameters<typeof queueRows>) =>
  queueRows(...of).map((row) => queueCells(row, dated.createdAt + 60_000).join(" "))
const part = servedSplit({ pods: [pod("a", "split", true), pod("b", "split", false), pod("c", "", true)] })

describe("the rows of braid queues", () => {
  it("have each queue of a split with its main queue and its sessions", () => {
    const queues = [main("old", orders, "earlier"), main("main-refunds", refunds), main("main-orders", orders)]
    const other = { ...dated, place: { ...place, name: "other" } }
    expect(cellsOf([other, dated], queues, [part, servedSplit()])).toEqual([
      "shop deployment/consumer https://sqs/1/orders Live 2 main-orders 2/2/3 1m",
      "shop deployment/consumer refunds Live 2 main-refunds 2/2/3 1m",
      "shop deployment/other https://sqs/1/orders Live 0 main-orders  1m",
      "shop deployment/other refunds Live 0 main-refunds  1m"
    ])
    expect(queueRows([dated], [], [part])[0]?.sessions).toEqual([
      {
        session: "00000000000000FF",
        user: `ann/${owner.k8sUsername}@laptop`,
        phase: "Pending",
        message: expect.stringMatching(/pod/u),
        filters: part.spec.filters
      }
    ])
  })

  it("have what sessions say where there is no record, or no right to read it", () => {
    expect(cellsOf([], [], [part])).toEqual([
      "shop deployment/consumer https://sqs/1/orders  1  2/2/3 ",
      "shop deployment/consumer refunds  1  2/2/3 "
    ])
    expect(cellsOf([], [], [servedSplit({ split: undefined })])).toEqual(["shop deployment/consumer   1  0/0/0 "])
  })

  it("tell the clusters of a fleet apart", () => {
    const inB = { ...part, spec: { ...part.spec, cluster: "b" } }
    expect(cellsOf([dated], [], [part, inB]).map((row) => row.replace(/https\S+/u, "orders"))).toEqual([
      "shop deployment/consumer orders Live 1  2/2/3 1m",
      "shop deployment/consumer refunds Live 1  2/2/3 1m",
      "shop deployment/consumer in b orders  1  2/2/3 ",
      "shop deployment/consumer in b refunds  1  2/2/3 "
    ])
  })
})
