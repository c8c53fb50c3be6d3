import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { describe, expect, onTestFinished } from "vitest"
import { contextsIn, filesIn, followFiles, type ReadFiles } from "../../../src/app/fleet/kubeconfig-files.ts"
import { it } from "../../support/effect-it.ts"
import { kubeconfigOf } from "../../support/kubeconfig.ts"
import { until } from "../../support/until.ts"
import { pass } from "../sessions/session-fleet.ts"

const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), "kubeconfigs-"))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A kubeconfig with a context for each cluster; the current one is the first. */
const contextsOf = (...names: ReadonlyArray<string>): string =>
  JSON.stringify({
    "current-context": names[0],
    contexts: names.map((name) => ({ name, context: { cluster: name, user: name } })),
    clusters: names.map((name) => ({ name, cluster: { server: `https://${name}` } })),
    users: names.map((name) => ({ name, user: { token: `token-of-${name}` } }))
  })

/** As a kubelet mounts a Secret: links to a directory, which is exchanged as a whole. */
const mount = (path: string, version: string, files: Readonly<Record<string, string>>): void => {
  mkdirSync(join(path, version))
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(path, version, name), text)
    rmSync(join(path, name), { force: true })
    symlinkSync(join("..data", name), join(path, name))
  }
  symlinkSync(version, join(path, "..new"))
  renameSync(join(path, "..new"), join(path, "..data"))
}

/** Writes a file at once: a reader must not see it empty in between, which would be one change more. */
const exchange = (path: string, text: string): void => {
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

const missing = "it does not exist; make the Secret that is mounted there, or correct the path."

const start = (read: ReadFiles) =>
  Effect.map(followFiles(read), (found) => {
    let changes = 0
    found.listen(() => void (changes += 1))
    return {
      found,
      changes: () => changes,
      names: () => found.all().map(({ member, name }) => `${name} ${member.server}${member.problems.join()}`),
      fingerprints: () =>
        found.all().map(({ member: { auth } }) => (auth._tag === "Kubeconfig" ? auth.fingerprint : ""))
    }
  })

/** Until the files have been read again; reading takes real time. */
const untilRead = (holds: () => boolean): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* Effect.promise(() => until("the files to be read", () => (holds() ? true : undefined))).pipe(
      Effect.raceFirst(Effect.forever(pass(5)))
    )
  })

describe("the contexts of a kubeconfig file", () => {
  it.effect("are clusters of their names, come and go with it, and change one by one", function* () {
    const path = join(folder(), "config")
    exchange(path, contextsOf("a", "b"))
    const { fingerprints, found, names } = yield* start(contextsIn(path))
    expect(names()).toEqual(["a https://a", "b https://b"])
    expect(found.all()[1]).toMatchObject({
      from: `kubeconfig ${path}`,
      member: { auth: { place: { _tag: "File", path, context: "b" } } }
    })
    const [first, second] = fingerprints()
    exchange(path, contextsOf("a", "b", "c").replace("token-of-b", "other"))
    yield* untilRead(() => names().length === 3)
    expect(fingerprints()[0]).toBe(first)
    expect(fingerprints()[1]).not.toBe(second)
    expect(found.kubeconfig("b")).toContain("other")
    exchange(path, contextsOf("c"))
    yield* untilRead(() => names().length === 1)
    expect(names()).toEqual(["c https://c"])
  })

  it.effect("stay while the file is gone or nonsense, and that is told until it is put right", function* () {
    const path = join(folder(), "config")
    exchange(path, contextsOf("a"))
    const { changes, found, names } = yield* start(contextsIn(path))
    rmSync(path)
    yield* untilRead(() => changes() === 1)
    expect(found.problems()).toEqual([`The kubeconfig ${path} is not used: ${missing}`])
    exchange(path, "contexts: [")
    yield* untilRead(() => changes() === 2)
    expect(found.problems()[0]).toMatch(/^The kubeconfig .* is not used: it is no YAML: .*; write the output of/u)
    expect(names()).toEqual(["a https://a"])
    exchange(path, contextsOf("a", "b"))
    yield* untilRead(() => changes() === 3)
    expect([found.problems(), names().length]).toEqual([[], 2])
  })

  it.effect("that name programs are refused one by one, without their secrets", function* () {
    const path = join(folder(), "config")
    const config = JSON.parse(contextsOf("a", "b"))
    config.users[1].user = { token: "very-secret", exec: { command: "rm" } }
    exchange(path, JSON.stringify(config))
    const { names } = yield* start(contextsIn(path))
    expect(names()[0]).toBe("a https://a")
    expect(names()[1]).toMatch(/^b context b of .* is unusable: it has exec; the operator runs no program/u)
    expect(names()[1]).not.toContain("very-secret")
  })
})

describe("the kubeconfigs of a directory", () => {
  it.effect("are clusters of their files' names, come and go as the mounted Secret is exchanged", function* () {
    const path = folder()
    mount(path, "..1", { "a.yaml": kubeconfigOf("a"), b: kubeconfigOf("b") })
    const { changes, names } = yield* start(filesIn(path))
    expect(names()).toEqual(["a https://a", "b https://b"])
    rmSync(join(path, "b"))
    mount(path, "..2", { "a.yaml": kubeconfigOf("a", { token: "next" }), c: "nonsense" })
    yield* untilRead(() => changes() === 1)
    expect(names()[0]).toBe("a https://a")
    expect(names()[1]).toMatch(/^c the kubeconfig .*c is unusable: it is no kubeconfig/u)
  })

  it.effect("that cannot be read are told, and the others are used", function* () {
    const path = folder()
    writeFileSync(join(path, "a.yaml"), kubeconfigOf("a"))
    mkdirSync(join(path, "b"))
    const { found, names } = yield* start(filesIn(path))
    expect(names()).toEqual(["a https://a"])
    expect(found.problems()).toEqual([
      `The kubeconfig ${path}/b is not used: it cannot be read (EISDIR); put the Secret right that is mounted there.`
    ])
  })

  it.effect("stay while the directory is gone", function* () {
    const path = folder()
    writeFileSync(join(path, "a.yaml"), kubeconfigOf("a"))
    const { changes, found, names } = yield* start(filesIn(path))
    rmSync(path, { recursive: true })
    yield* untilRead(() => changes() === 1)
    expect(found.problems()).toEqual([`The directory ${path} of kubeconfigs is not used: ${missing}`])
    expect(names()).toEqual(["a https://a"])
  })

  it.effect("are none where nothing is mounted, and are found when it is", function* () {
    const path = join(folder(), "later")
    const { found, names } = yield* start(filesIn(path))
    expect([names(), found.problems().length]).toEqual([[], 1])
    mkdirSync(path)
    writeFileSync(join(path, "a"), kubeconfigOf("a"))
    yield* untilRead(() => names().length === 1)
    expect(found.problems()).toEqual([])
  })
})
