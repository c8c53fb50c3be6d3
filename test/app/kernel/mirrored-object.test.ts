import { Effect, Result } from "effect"
import { describe, expect } from "vitest"
import { confirmGone, creation, deleteMeant, deleteSeen, patchMirror } from "../../../src/app/kernel/mirrored-object.ts"
import { configMaps } from "../../../src/domain/resources/core-kinds.ts"
import { KubeError, type KubeErrorReason, type KubeObject } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

/** The place of a ConfigMap, the cache of which notes what it is given. */
const begin = () => {
  const api = new MemoryKubeApi("member")
  const noted: Array<string | undefined> = []
  const cache = {
    wrote: ({ metadata }: KubeObject) => void noted.push(metadata.resourceVersion),
    reread: () => Effect.sync(() => void noted.push("reread"))
  }
  const place = { api, resource: configMaps, name: "mirrored", namespace: "shop", cache }
  const write = (change: object = {}) => api.write(configMaps, "mirrored", change, "shop").metadata
  return { api, place, noted, write, isThere: () => api.peek(configMaps, "mirrored", "shop") !== undefined }
}

const isOurs = ({ metadata }: KubeObject): boolean => metadata.labels?.["owner"] === "us"
const marked = { metadata: { labels: { owner: "us" } } }
const reasonOf = <A>(call: Effect.Effect<A, KubeError>) =>
  Effect.map(Effect.result(call), (result) => (Result.isFailure(result) ? result.failure.reason : result.success))

describe("a wanted object in another cluster", () => {
  it.effect.each([
    ["AlreadyExists", 409, "Taken"],
    ["Forbidden", 403, "Refused"],
    ["NotFound", 404, "Refused"],
    ["Invalid", 422, "Refused"],
    ["Other", 413, "Refused"],
    ["Other", 500, "Other"],
    ["Conflict", 409, "Conflict"],
    ["Unauthorized", 401, "Unauthorized"],
    ["TooManyRequests", 429, "TooManyRequests"],
    ["Unreachable", undefined, "Unreachable"]
  ] as const)("whose create is answered with %s %s: %s", function* ([reason, code, end]) {
    const error = { cluster: "member", operation: "create", reason, detail: "no", ...(code && { code }) }
    const made: Effect.Effect<KubeObject, KubeError> = Effect.fail(new KubeError(error))
    const ended = Effect.map(creation(made), ({ _tag }): string => _tag)
    expect(yield* reasonOf<string>(ended)).toBe<string | KubeErrorReason>(end)
  })

  it.effect("is deleted as it was seen, and no other of its name", function* () {
    const { isThere, place, write } = begin()
    expect(yield* deleteSeen(place, { uid: "any" })).toBe("Gone")
    const { uid = "" } = write()
    expect([yield* reasonOf(deleteSeen(place, { uid: "another" })), isThere()]).toEqual(["Conflict", true])
    expect([yield* deleteSeen(place, { uid }), isThere()]).toEqual(["Begun", false])
  })

  it.effect("is found by its marks where it was not seen, and objects of others stay", function* () {
    const { isThere, place, write } = begin()
    expect(yield* deleteMeant(place, isOurs)).toBe("Gone")
    write()
    expect([yield* deleteMeant(place, isOurs), isThere()]).toEqual(["Gone", true])
    write(marked)
    expect([yield* deleteMeant(place, isOurs), isThere()]).toEqual(["Begun", false])
  })

  it.effect("counts as gone by its API server's answer alone, which the cache gets otherwise", function* () {
    const { noted, place, write } = begin()
    const gone = Effect.suspend(() => reasonOf(confirmGone(place, isOurs)))
    expect(yield* gone).toBeUndefined()
    write()
    expect([yield* gone, noted]).toEqual([undefined, []])
    const { resourceVersion } = write(marked)
    expect([yield* gone, noted]).toEqual(["Conflict", [resourceVersion]])
    write({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } })
    expect(yield* gone).toBeUndefined()
  })

  it.effect("is changed as it was compared; otherwise the cache reads it again, and nothing is written", function* () {
    const { api, noted, place, write } = begin()
    const before = write().resourceVersion
    const patch = { metadata: { resourceVersion: before }, data: { a: "1" } }
    const after = yield* patchMirror(place, patch)
    expect(noted).toEqual([after?.metadata.resourceVersion])
    expect([yield* patchMirror(place, patch), noted.at(-1)]).toEqual([undefined, "reread"])
    api.erase(configMaps, "mirrored", "shop")
    expect([yield* patchMirror(place, patch), noted.length]).toEqual([undefined, 3])
  })
})
