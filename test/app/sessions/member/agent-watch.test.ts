import { describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import { makeAgentWatches } from "../../../../src/app/sessions/member/agent-watch.ts"
import { daemonMessage } from "../../../../src/domain/protocol/daemon-message.ts"
import { roundEvery } from "../../../../src/domain/sessions/agent-health.ts"
import { it } from "../../../support/effect-it.ts"
import { fakeChannel } from "../../../support/fake-channel.ts"
import { FakeAgents } from "../session-fleet.ts"

const agent = { name: "agent", uid: "1", host: "10.0.0.1", port: 1 }

describe("the watch over an agent", () => {
  it.effect("does not forget its silence while a session that starts over leaves it for a while", function* () {
    const watches = yield* makeAgentWatches(new FakeAgents().service)
    const joined = Effect.gen(function* () {
      const hold = watches.hold(agent, fakeChannel())
      yield* Effect.forkScoped(Effect.ignore(hold.greet))
      yield* TestClock.adjust(1)
      return hold
    })
    const first = yield* joined
    yield* TestClock.adjust("24 seconds")
    expect(first.health()._tag).toBe("Suspected")
    first.close()
    yield* TestClock.adjust("1 minute")
    expect((yield* joined).health()._tag).toBe("Suspected")
  })

  it.effect("gives up once an agent that answers and leaves a port open, and says which", function* () {
    const agents = new FakeAgents()
    const watches = yield* makeAgentWatches(agents.service)
    const channel = fakeChannel()
    const hold = watches.hold(agent, channel)
    yield* Effect.forkScoped(Effect.ignore(hold.greet))
    yield* TestClock.adjust(1)
    const since = hold.rounds()
    hold.leftPortOpen(8080, since)
    expect(hold.health()._tag).toBe("Serving")
    for (let round = 0; round < 7; round++) {
      yield* TestClock.adjust(roundEvery)
      channel.receive(daemonMessage.encode({ _tag: "Pong" }))
    }
    hold.leftPortOpen(8080, hold.rounds())
    expect(hold.health()._tag).toBe("Serving")
    hold.leftPortOpen(8080, since)
    hold.leftPortOpen(8080, since)
    yield* TestClock.adjust(1)
    expect(agents.givenUp).toEqual(["agent"])
    expect(hold.health()).toEqual({ _tag: "Lost", why: expect.stringContaining("port 8080 for 48 s") })
  })
})
