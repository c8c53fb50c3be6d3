/**
 * The operator answers what mirrord's own client has asked, once, as it answered then. The answers, and that the client
 * still asks the same, are recorded by test/real/recorded-client.test.ts.
 */

import { readFileSync } from "node:fs"
import { afterEach, describe, expect, it } from "vitest"
import { playRecorded } from "../../recorded/play.ts"
import { stories } from "../../recorded/stories.ts"
import { holds, Placeholders, type Recording, recordedExchanges } from "../../recorded/transcript.ts"
import { useRecordedWorld } from "../../recorded/world.ts"
import type { ClientRelay } from "../../support/client-relay.ts"
import { until } from "../../support/until.ts"
import { certificateRequest } from "../../support/user-certificate.ts"

const recordingOf = (name: string): Recording =>
  JSON.parse(readFileSync(new URL(`../../recorded/${name}.json`, import.meta.url), "utf8")) as Recording

describe("what mirrord's client has asked is answered as it was", () => {
  const world = useRecordedWorld("recorded client, played")
  const relays: Array<ClientRelay> = []
  afterEach(() => {
    for (const relay of relays.splice(0)) relay.close()
  })

  it.for(Object.entries(stories))("%s", async ([name, steps]) => {
    if (name === "policies") await world.forbid()
    const home = world.real.home(name)
    const by = new Placeholders()
    by.set("x-client-name", "Ann")
    by.set("x-client-hostname", "laptop")
    by.set("certificate request", certificateRequest("laptop"))
    const { commands } = recordingOf(name)
    expect(commands.map(({ command }) => command)).toEqual(steps.map(({ command }) => command))
    const staying: Array<Promise<void>> = []
    for (const [index, { command, exchanges }] of commands.entries()) {
      const { at, ends = false, stays = false, until: last = "" } = steps[index] ?? {}
      const relay = await world.relay(home, at)
      relays.push(relay)
      const heard = () => recordedExchanges(command, relay.exchanges, by)
      const played = playRecorded(relay, exchanges, by).then(async () => {
        await world.settle(relay)
        expect(heard(), command).toEqual(exchanges)
      })
      if (stays) {
        staying.push(played)
        await Promise.race([played, until(`${last} as an answer to ${command}`, () => holds(heard(), last))])
      } else await played
      // The recording of a command that stays has its end.
      if (ends) await Promise.all(staying)
      if (!stays) relay.close()
    }
  })
})
