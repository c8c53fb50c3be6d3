/**
 * mirrord's own client asks what test/recorded holds, and hears the same: `npm test` asks it where there is no client.
 * With `-u` it is recorded again.
 */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, expect, it } from "vitest"
import { type Step, stories } from "../recorded/stories.ts"
import {
  Placeholders,
  holds,
  type RecordedCommand,
  type RecordedExchange,
  recordedExchanges,
  theEnd
} from "../recorded/transcript.ts"
import { useRecordedWorld } from "../recorded/world.ts"
import type { ClientRelay } from "../support/client-relay.ts"
import { until } from "../support/until.ts"
import { describeReal, runClient, type RunningCommand } from "./harness.ts"

const client = "3.250.0"
/** The client keeps its proxy waiting, and says nothing unasked. */
const settings = { key: "recorded", internal_proxy: { idle_timeout: 1, ping_interval: 3600 } }

describeReal("what is recorded", ["mirrord", "layerApp"], ({ layerApp, mirrord }) => {
  const world = useRecordedWorld("recorded client")
  const commands: Array<RunningCommand> = []
  const relays: Array<ClientRelay> = []
  afterEach(() => {
    for (const command of commands.splice(0)) command.stop()
    for (const relay of relays.splice(0)) relay.close()
  })

  it.for(Object.entries(stories))("is what the client asks and hears: %s", async ([name, steps]) => {
    if (name === "policies") await world.forbid()
    const home = world.real.home(name)
    const by = new Placeholders()
    let stayed: () => ReadonlyArray<RecordedExchange> = () => []
    /** Plays a step; the result gives what is recorded of it. */
    const play = async ({ at, command, config, ends, stays, until: last }: Step): Promise<() => RecordedCommand> => {
      const relay = await world.relay(world.real.home("relay"), at)
      relays.push(relay)
      const file = join(home, "mirrord.json")
      writeFileSync(file, JSON.stringify({ ...settings, ...config }))
      const [word = "", ...words] = by.fill(command).split(" ")
      const args = words.map((each) => (each === "layer-app" ? layerApp : each))
      const given = ["dump", "exec", "port-forward"].includes(word) ? ["-f", file] : []
      const environment = { home, kubeconfig: relay.kubeconfig }
      const run = runClient({ file: mirrord, args: [word, ...given, ...args], ...environment })
      commands.push(run)
      const heard = () => recordedExchanges(command, relay.exchanges, by)
      const about = { command, ...(config === undefined ? {} : { config }) }
      if (last !== undefined) {
        await until(`${last} as an answer to ${command}`, () => holds(heard(), last))
        if (stays === true) {
          stayed = heard
          return () => ({ ...about, exchanges: heard() })
        }
        const exchanges = heard()
        run.stop()
        return () => ({ ...about, exchanges })
      }
      const exit = await run.ended()
      // The internal proxy ends after the command.
      const isOver = () => (relay.exchanges.every(({ isOpen }) => !isOpen) ? true : undefined)
      await until(`the end of all that ${command} has asked`, isOver)
      await world.settle(relay)
      if (ends === true) await until(`the end by ${command}`, () => holds(stayed(), theEnd))
      const exchanges = heard()
      return () => ({ ...about, exit, exchanges })
    }
    const played: Array<() => RecordedCommand> = []
    for (const step of steps) played.push(await play(step))
    const recording = { client, commands: played.map((recorded) => recorded()) }
    await expect(`${JSON.stringify(recording, undefined, 2)}\n`).toMatchFileSnapshot(`../recorded/${name}.json`)
  })
})
