/** Port subscriptions of the strict client and their results (wire.md §6.9). */

import { describe, expect, it } from "vitest"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { ResponseError } from "../../../src/domain/protocol/response-error.ts"
import { type Driver, serving, steal, subscribed } from "./driver.ts"

const failed = (error: ResponseError): DaemonMessage => ({
  _tag: "TcpSteal",
  value: { _tag: "SubscribeResult", value: { _tag: "Err", error } }
})
const none = (): Driver => serving()
const pending = (): Driver => serving().ask(steal(80))
const confirmed = (): Driver => {
  const client = pending().hear(subscribed(80))
  client.outputs = []
  return client
}
const states = { none, pending, confirmed }

const taken: ResponseError = { _tag: "PortAlreadyStolen", value: 80 }
const forbidden: ResponseError = {
  _tag: "Forbidden",
  blockedAction: { _tag: "Steal", value: { _tag: "All", value: 80 } },
  policyName: null
}
const mirrorForbidden: ResponseError = {
  _tag: "ForbiddenWithReason",
  blockedAction: { _tag: "Mirror", value: 80 },
  policyName: "p",
  reason: "r"
}
const wrongAction: ResponseError = {
  _tag: "Forbidden",
  blockedAction: { _tag: "OutgoingTcp", value: { _tag: "Ip", value: { ip: "10.0.0.1", port: 80 } } },
  policyName: null
}

/** The table of wire.md §6.9: the outcome for a port in each state. */
const table: ReadonlyArray<readonly [string, DaemonMessage, Readonly<Record<keyof typeof states, string>>]> = [
  ["Ok", subscribed(80), { none: "ignored", pending: "Ok", confirmed: "ignored" }],
  ["PortAlreadyStolen", failed(taken), { none: "ignored", pending: "Err", confirmed: "ignored" }],
  ["Forbidden Steal", failed(forbidden), { none: "ignored", pending: "Err", confirmed: "fatal" }],
  ["Forbidden Mirror", failed(mirrorForbidden), { none: "ignored", pending: "Err", confirmed: "fatal" }],
  ["Forbidden Outgoing", failed(wrongAction), { none: "ignored", pending: "ignored", confirmed: "ignored" }],
  ["any other", failed({ _tag: "NotImplemented" }), { none: "fatal", pending: "fatal", confirmed: "fatal" }]
]

const outcome = (client: Driver): string => {
  if (client.fatal !== undefined) return "fatal"
  const events = client.takeEvents()
  const [event] = events
  if (events.length !== 1 || event === undefined) return `${events.length} events`
  if (event._tag === "Subscribed") return event.result._tag
  return event._tag === "Ignored" ? "ignored" : event._tag
}

describe("wire.md §6.9: subscription results", () => {
  for (const [name, message, expected] of table) {
    for (const state of ["none", "pending", "confirmed"] as const) {
      it(`${name} for a port that is ${state}: ${expected[state]}`, () => {
        expect(outcome(states[state]().hear(message))).toBe(expected[state])
      })
    }
  }

  it("a result on the other channel counts: only the port matters", () => {
    const client = pending().hear({ _tag: "Tcp", value: { _tag: "SubscribeResult", value: { _tag: "Ok", value: 80 } } })
    expect(client.takeEvents()).toMatchObject([{ _tag: "Subscribed", port: 80 }])
  })

  it("further listeners of a port are served locally", () => {
    const client = pending().ask(steal(80)).hear(subscribed(80)).ask(steal(80))
    expect(client.takeMessages()).toHaveLength(1)
    expect(client.takeEvents()).toMatchObject([{ calls: 2 }, { calls: 1 }])
  })

  it("a port that failed can be asked for again", () => {
    const client = pending().hear(failed(taken)).ask(steal(80))
    expect(client.takeMessages()).toHaveLength(2)
  })

  it("mirroring with a filter needs 1.21.1, else everything is mirrored", () => {
    const mirror = { _tag: "Mirror", port: 80, filter: { _tag: "Header", value: "a: b" } } as const
    const [[, message] = []] = serving({}, "1.21.0").ask(mirror).takeSent()
    expect(message).toEqual({ _tag: "Tcp", value: { _tag: "PortSubscribe", value: 80 } })
    expect(serving().ask(mirror).takeMessages()).toMatchObject([{ value: { _tag: "PortSubscribeFilteredHttp" } }])
  })
})
