import { expect, it } from "vitest"
import { play, story } from "../lab/playground/play.ts"
import { describeWith } from "../support/describe-with.ts"
import { leftOfWorlds } from "./nodes.ts"

describeWith(["node", "control plane", "mirrord-agent"], "npm start -- --node --once --json", () => {
  it("tells the whole story on three clusters with a node each, and leaves nothing behind", async () => {
    const before = { ...leftOfWorlds(), groups: [] }
    const { code, lines } = await play(["--node", "--once"])
    expect(lines.filter(({ ok }) => !ok)).toEqual([])
    expect(lines.map(({ step }) => step)).toEqual(story)
    expect(code).toBe(0)
    expect(leftOfWorlds()).toEqual(before)
  })
})
