import { expect, it } from "vitest"
import { findMirrord } from "../../lab/playground/branches/branch-programs.ts"
import { apartStory, play, story } from "../lab/playground/play.ts"
import { describeWith } from "../support/describe-with.ts"
import { leftOfWorlds } from "./nodes.ts"

const isLong = process.env["BRAID_TEST_LONG"] === "true"

/** mirrord's own client, where this machine has it, shows no pongs. */
const hasMirrord = findMirrord(process.env) !== undefined
const [client, shown] = hasMirrord
  ? [/^mirrord \d/u, (step: string) => step !== "ping"]
  : [/^the lab's client$/u, () => true]

describeWith(["node", "control plane", "mirrord-agent"], "npm start -- --node --once --json", () => {
  const topologies = [
    ["management", story],
    // A landing tells it on real control planes (kubernetes/playground).
    ["outbound", apartStory]
  ] as const
  it.each(isLong ? topologies : topologies.slice(0, 1))(
    "tells the whole story of topology %s on three clusters with a node each, says by which client, and leaves nothing",
    async (topology, steps) => {
      const before = { ...leftOfWorlds(), groups: [] }
      const { code, lines } = await play(["--node", "--once", "--topology", topology])
      expect(lines.filter(({ ok }) => !ok)).toEqual([])
      expect(lines.map(({ step }) => step)).toEqual(steps.filter(shown))
      expect(lines.find(({ step }) => step === "session")?.["client"]).toMatch(client)
      expect(code).toBe(0)
      expect(leftOfWorlds()).toEqual(before)
    }
  )
})
