import { execFile } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import { describeReal } from "../real/harness.ts"
import { answersAt, useNodeSessions } from "./node-sessions.ts"
import { letPeopleIn, member, pod } from "./people.ts"

const hashOf = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex")

describeReal(
  "people's files beside a session, through one tunnel",
  ["mirrord", "layerApp"],
  (binaries) => {
    const nodes = useNodeSessions(binaries, { letsPeopleIn: true })

    it("come whole there and back, while the session goes on answering the member's requests", async () => {
      const { directory, programs } = nodes.parts()
      const { entry = "" } = nodes.named(member)
      const through = await letPeopleIn(nodes.primary().cluster, nodes.named(member).cluster, directory)
      const copy = (from: string, to: string) =>
        promisify(execFile)(programs.kubectl, [`--kubeconfig=${through}`, "cp", from, to])
      const session = nodes.exec(["--steal", "80"])
      expect(await session.waitForEvent("subscribed")).toMatchObject({ ok: true })
      await answersAt(entry, "/before", "layer-app /before")
      let isDone = false
      const copying = Promise.all(
        ["a", "b", "c", "d"].map(async (name) => {
          const [there, back] = [join(directory, name), join(directory, `${name}-back`)]
          writeFileSync(there, randomBytes(32 * 1_048_576))
          await copy(there, `${pod}:/tmp/${name}`)
          await copy(`${pod}:/tmp/${name}`, back)
          expect(hashOf(back)).toBe(hashOf(there))
        })
      ).finally(() => (isDone = true))
      let answered = 0
      while (!isDone) {
        await answersAt(entry, `/${answered}`, `layer-app /${answered}`)
        answered++
      }
      await copying
      expect(answered).toBeGreaterThan(10)
      await nodes.end(session)
    })
  },
  { also: ["mirrord-agent", "node", "control plane"] }
)
