import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { documentOf, fleetFiles, readFleetFiles } from "../../../src/adapters/files/configuration-files.ts"
import { it } from "../../support/effect-it.ts"

const makeMount = () => {
  const folder = mkdtempSync(join(tmpdir(), "braid-fleet-"))
  const paths = {
    multiCluster: join(folder, "multicluster-config.yaml"),
    clusters: join(folder, "clusters-config.yaml"),
    managementOnly: undefined
  }
  let version = 0
  /** Exchanges both files as a kubelet does: a new folder, and then the link to it. */
  const write = (multiCluster: string, clusters: string): void => {
    const target = join(folder, `..${++version}`)
    mkdirSync(target)
    writeFileSync(join(target, "multicluster-config.yaml"), multiCluster)
    writeFileSync(join(target, "clusters-config.yaml"), clusters)
    symlinkSync(target, join(folder, "..data_tmp"))
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"))
    rmSync(join(folder, `..${version - 1}`), { recursive: true, force: true })
  }
  write("clusterName: p", "clusters: []")
  for (const path of [paths.multiCluster, paths.clusters])
    symlinkSync(join("..data", path.slice(folder.length + 1)), path)
  return { folder, paths, write }
}

/** A ConfigMap as a kubelet mounts it. */
const mount = Effect.acquireRelease(Effect.sync(makeMount), ({ folder }) =>
  Effect.sync(() => rmSync(folder, { recursive: true }))
)

/** Lets the clock run while files are read, which takes no virtual time. */
const whileTimePasses = <A>(effect: Effect.Effect<A>): Effect.Effect<A> => {
  const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
  return Effect.raceFirst(effect, Effect.forever(Effect.andThen(TestClock.adjust("5 seconds"), turn)))
}

describe("the mounted configuration of a fleet", () => {
  it.effect("is told at once, and again after the kubelet has exchanged the link", function* () {
    const { paths, write } = yield* mount
    const files = fleetFiles(paths)
    const first = yield* files.after(undefined)
    expect(first).toEqual({
      multiCluster: { _tag: "Parsed", value: { clusterName: "p" } },
      clusters: { _tag: "Parsed", value: { clusters: [] } },
      managementOnly: undefined
    })
    const next = yield* Effect.forkChild(files.after(first))
    write("clusterName: q", "clusters: [{}]")
    expect(yield* whileTimePasses(Fiber.join(next))).toEqual({
      multiCluster: { _tag: "Parsed", value: { clusterName: "q" } },
      clusters: { _tag: "Parsed", value: { clusters: [{}] } },
      managementOnly: undefined
    })
  })

  it.effect("is no news while it says the same, in other words too", function* () {
    const { paths, write } = yield* mount
    const first = yield* fleetFiles(paths).after(undefined)
    write("# a comment\nclusterName: p", "{clusters: []}")
    const next = yield* Effect.forkChild(fleetFiles(paths).after(first))
    yield* whileTimePasses(Effect.sleep("1 minute"))
    expect(next.pollUnsafe()).toBeUndefined()
  })

  it.each([
    "a: *b",
    "clusters: &a [*a]",
    `a: &a [${"x,".repeat(99)}]\nb: &b [${"*a,".repeat(99)}]\nc: [${"*b,".repeat(99)}]`
  ])("is no YAML where its aliases lead nowhere, in a circle or to too much: %s", (text) =>
    expect(documentOf(text)._tag).toBe("NotYaml")
  )

  it("that is not YAML is refused with the place, without the words that are there: many may read the refusal", () => {
    expect(documentOf("a: 1\nb: [secret\nc: 2\n")).toEqual({
      _tag: "NotYaml",
      reason: "Flow sequence in block collection must be sufficiently indented and end with a ] at line 3, column 1"
    })
  })

  it.effect("says of a missing file and of nonsense what they are", function* () {
    const { paths, write } = yield* mount
    write("a: [", "")
    expect(yield* readFleetFiles(paths)).toMatchObject({
      multiCluster: { _tag: "NotYaml" },
      clusters: { _tag: "Absent" }
    })
    rmSync(paths.clusters)
    expect((yield* readFleetFiles(paths)).clusters._tag).toBe("Unreadable")
    expect((yield* readFleetFiles({ ...paths, clusters: undefined })).clusters._tag).toBe("Absent")
  })
})
