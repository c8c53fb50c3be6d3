import { describe, expect, it } from "vitest"
import {
  isTaken,
  mayStillSendTo,
  nextOrder,
  orderText,
  type PumpOrder,
  type PumpReport,
  readOrder,
  readReport,
  reportText
} from "../../../src/domain/queues/pump-order.ts"

const source = { identity: "arn", reference: "orders", name: "orders", url: "https://sqs/1/orders", ids: ["orders"] }
const route = (uid: string) =>
  ({ id: 2n ** 64n - 1n, startedAt: 1, mode: "steal", uid, ids: ["orders"], queue: uid }) as const
const tableOf = (...uids: ReadonlyArray<string>) => ({ source, main: "main", routes: uids.map(route) })
const main = { url: "https://sqs/1/main", isFifo: false, maximumMessageSize: 1_024 }
const pumping = {
  source: { url: source.url, isFifo: false, sns: true, jqLimit: 200 },
  main,
  sessions: [
    {
      id: 2n ** 64n - 1n,
      startedAt: 1,
      mode: "steal" as const,
      attributes: { to: "^ann$" },
      program: ".Body",
      queue: { ...main, sessionKey: "key" },
      k8sUser: "ann",
      localUser: "Ann"
    }
  ]
}
const order: PumpOrder = {
  number: 7,
  place: { namespace: "shop", kind: "deployment", name: "consumer" },
  table: tableOf("ann", "bob"),
  pumping,
  left: ["old"]
}
const report = (number: number, stillSendsTo: ReadonlyArray<string> = []): PumpReport => ({
  number,
  stillSendsTo,
  ended: []
})
const withoutBob = { pumping, table: tableOf("ann") }

describe("the order about a queue", () => {
  it("is read as it was written, as the report on it is", () => {
    expect(readOrder(orderText(order))).toEqual(order)
    const failed = { operation: "ReceiveMessage", queue: source.url, reason: "Denied", detail: "no" } as const
    const ended = [{ session: 5n, queue: "q", end: "QueueGone", detail: "it is gone" }] as const
    const whole: PumpReport = { ...report(7, ["x"]), ended, failed }
    expect(readReport(reportText(whole))).toEqual(whole)
    expect([readOrder(undefined), readOrder("{}"), readReport("no JSON")]).toEqual([undefined, undefined, undefined])
  })

  it.each<[string, PumpReport | undefined, ReadonlyArray<string>]>([
    ["that no owner has taken, to what those before left", undefined, ["old"]],
    ["whose owner goes by the one before, to the same", report(6, ["else"]), ["old"]],
    ["that is taken, to what the owner says", report(7, ["x"]), ["x"]]
  ])("leaves pumps to send, by an order %s", (_, known, queues) => {
    expect(mayStillSendTo(order, known)).toEqual(queues)
    expect(isTaken(order, known)).toBe(known?.number === 7)
  })

  it("is followed by one that names all queues to which a pump may still send", () => {
    expect(nextOrder(order, report(6), withoutBob)).toEqual({
      ...order,
      ...withoutBob,
      number: 8,
      left: ["old", "bob"]
    })
    expect(nextOrder(order, report(7, ["ann", "x"]), withoutBob).left).toEqual(["x", "bob"])
    expect(nextOrder(order, report(7), { table: order.table, pumping: undefined })).toMatchObject({
      number: 8,
      left: []
    })
  })
})
