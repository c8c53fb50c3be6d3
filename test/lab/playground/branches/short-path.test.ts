import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Result } from "effect"
import { underRoot } from "../../../../lab/cluster/node/container-volumes.ts"
import { shortPath } from "../../../../lab/playground/branches/short-path.ts"
import { programsOf } from "../../../../src/adapters/engines/programs.ts"
import { branchPod } from "../../../../src/domain/branches/branch-pod.ts"
import { readBranchRequest } from "../../../../src/domain/branches/branch-request.ts"
import { asObjects, asString, at } from "../../../../src/domain/json.ts"
import { bareBranchSpec } from "../../../support/branch-spec.ts"
import { it } from "../../../support/effect-it.ts"

const uid = "01234567-89ab-cdef-0123-456789abcdef"

/** The folder of a container in which PostgreSQL makes its socket while it copies. */
const staging = (): string => {
  const request = Result.getOrThrow(readBranchRequest({ ...bareBranchSpec, postgresOptions: {} }))
  const settings = { imagePullSecrets: [], labels: {}, annotations: {}, dataLimit: "1Gi", stagingLimit: "1Gi" }
  const owner = { apiVersion: "v1", kind: "BranchDatabase", name: "b", uid }
  const options = {
    name: "branch-1",
    namespace: "default",
    owner,
    request,
    programs: programsOf(request.dialect),
    digest: "d",
    template: {}
  }
  const [copy] = asObjects(at(Result.getOrThrow(branchPod(settings, options)), "spec", "initContainers"))
  return asString(asObjects(copy?.["env"]).find(({ name }) => name === "STAGING")?.["value"]) ?? ""
}

const listening = (path: string): Effect.Effect<string> =>
  Effect.callback<string>((resume) => {
    const server = createServer()
    server.once("error", (error) => resume(Effect.succeed(error.message)))
    server.listen(path, () => server.close(() => resume(Effect.succeed(""))))
  })

describe("the path of a playground's folder", () => {
  it.live("has room for a pod's sockets, however long the path of temporary folders is", () =>
    Effect.gen(function* () {
      const temporary = mkdtempSync(join(tmpdir(), "x".repeat(60)))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(temporary, { recursive: true })))
      const link = yield* Effect.scoped(
        Effect.gen(function* () {
          const short = yield* shortPath(temporary)
          const inPod = (folder: string) =>
            join(underRoot(join(folder, "cluster-a", "pods", uid, "copy"), staging()), ".s.PGSQL.5432")
          mkdirSync(dirname(inPod(temporary)), { recursive: true })
          assert.strictEqual(yield* listening(inPod(short)), "")
          assert.notStrictEqual(yield* listening(inPod(temporary)), "")
          return short
        })
      )
      assert.isFalse(existsSync(link))
      assert.isTrue(existsSync(temporary))
    })
  )

  it.live("is its own where that is short", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* shortPath("/tmp/braid-playground-Ab12Cd"), "/tmp/braid-playground-Ab12Cd")
    })
  )
})
